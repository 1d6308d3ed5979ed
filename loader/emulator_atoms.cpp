#include "loader/emulator_atoms.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "vm/term/atom_table.hpp"

namespace minivm::loader {

namespace {

constexpr std::string_view kFirst[] = {"false", "true", "_", "nonode@nohost"};

// A program as its file has it. Whatever the file says is checked against its size.
class Program {
  public:
    explicit Program(std::span<const uint8_t> file) : file_(file) {
        Elf64_Ehdr header;
        if (!read(0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
            header.e_ident[EI_DATA] != ELFDATA2LSB) {
            return;
        }
        for (size_t i = 0; i < header.e_phnum; ++i) {
            Elf64_Phdr segment;
            if (read(header.e_phoff + i * sizeof segment, &segment)) {
                segments_.push_back(segment);
            }
        }
    }

    std::vector<std::string_view> atoms() const {
        std::vector<std::string_view> texts;
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) {
                continue;
            }
            const std::vector<uint64_t> words = words_of(segment);
            for (size_t i = 0; i + std::size(kFirst) < words.size(); ++i) {
                if (begins_at(words, i)) {
                    for (; i < words.size() && words[i] != 0; ++i) {
                        texts.push_back(text_at(words[i]));
                    }
                    return texts;
                }
            }
        }
        return texts;
    }

  private:
    template <class T>
    bool read(uint64_t at, T* out) const {
        if (at > file_.size() || file_.size() - at < sizeof *out) {
            return false;
        }
        std::memcpy(out, file_.data() + at, sizeof *out);
        return true;
    }

    // The offset in the file of what will be at an address of the program; the file's size if there is none.
    uint64_t place_of(uint64_t address) const {
        for (const Elf64_Phdr& s : segments_) {
            if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz) {
                return s.p_offset + (address - s.p_vaddr);
            }
        }
        return file_.size();
    }

    std::string_view text_at(uint64_t address) const {
        const uint64_t at = place_of(address);
        if (at >= file_.size()) {
            return {};
        }
        const auto* const begin = reinterpret_cast<const char*>(file_.data() + at);
        return {begin, strnlen(begin, file_.size() - at)};
    }

    bool begins_at(const std::vector<uint64_t>& words, size_t i) const {
        for (const std::string_view text : kFirst) {
            if (words[i] == 0 || text_at(words[i++]) != text) {
                return false;
            }
        }
        return true;
    }

    // The words of a segment, with the pointers that the dynamic linker would put there.
    std::vector<uint64_t> words_of(const Elf64_Phdr& segment) const {
        std::vector<uint64_t> words;
        for (uint64_t at = 0; at + sizeof(uint64_t) <= segment.p_filesz; at += sizeof(uint64_t)) {
            uint64_t word;
            if (!read(segment.p_offset + at, &word)) {
                break;
            }
            words.push_back(word);
        }
        uint64_t relocations = 0;
        uint64_t bytes = 0;
        for (const Elf64_Phdr& s : segments_) {
            if (s.p_type != PT_DYNAMIC) {
                continue;
            }
            Elf64_Dyn entry;
            for (uint64_t at = 0; at < s.p_filesz && read(s.p_offset + at, &entry) && entry.d_tag != DT_NULL; at += sizeof entry) {
                relocations = entry.d_tag == DT_RELA ? entry.d_un.d_ptr : relocations;
                bytes = entry.d_tag == DT_RELASZ ? entry.d_un.d_val : bytes;
            }
        }
        const uint64_t first = place_of(relocations);
        Elf64_Rela relocation;
        for (uint64_t at = 0; relocations != 0 && at < bytes && read(first + at, &relocation); at += sizeof relocation) {
            const uint64_t type = ELF64_R_TYPE(relocation.r_info);
            const uint64_t word = (relocation.r_offset - segment.p_vaddr) / sizeof(uint64_t);
            if ((type == R_X86_64_RELATIVE || type == R_AARCH64_RELATIVE) && relocation.r_offset >= segment.p_vaddr &&
                word < words.size()) {
                words[word] = static_cast<uint64_t>(relocation.r_addend);
            }
        }
        return words;
    }

    std::span<const uint8_t> file_;
    std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::vector<std::string_view> emulator_atoms(std::span<const uint8_t> elf) {
    std::vector<std::string_view> texts = Program(elf).atoms();
    const bool all_atoms = std::all_of(texts.begin(), texts.end(), [](std::string_view t) { return atom_table::is_valid(t); });
    return all_atoms ? texts : std::vector<std::string_view>();
}

void number_emulator_atoms(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    struct stat s;
    const size_t size = fstat(fd, &s) == 0 ? static_cast<size_t>(s.st_size) : 0;
    void* const bytes = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) {
        return;
    }
    atom_table::number_first(emulator_atoms({static_cast<const uint8_t*>(bytes), size}));
    munmap(bytes, size);
}

}  // namespace minivm::loader
