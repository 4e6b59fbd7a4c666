// Loops over the cells of a table, in tiles of 64 with eight running sums, and the signs chi(z) = (-1)^|z|.
//
// Included by kernel files only: everything here is in the namespace of one instruction set (see isa.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hfd {
namespace HFD_ISA {
namespace {

using Index = std::size_t;

constexpr Index kTile = 64;

constexpr bool odd(Index z) {
  z ^= z >> 16;
  z ^= z >> 8;
  z ^= z >> 4;
  return (0x6996u >> (z & 15u)) & 1u;
}

struct Signs {
  double of[kTile];
  constexpr Signs() : of() {
    for (Index z = 0; z < kTile; ++z) of[z] = odd(z) ? -1.0 : 1.0;
  }
};
constexpr Signs kSigns;

// The sign that all of a tile shares: chi of the high bits of its first cell.
inline double tile_sign(Index z) { return odd(z / kTile) ? -1.0 : 1.0; }

struct FullTile {
  constexpr operator Index() const { return kTile; }
};

// Calls tile(z, length) for tiles that cover 0 .. count - 1 (a power of two).
template <class Body>
inline void for_tiles(Index count, Body tile) {
  if (count < kTile) {
    tile(Index{0}, count);
  } else {
    for (Index z = 0; z < count; z += kTile) tile(z, FullTile{});
  }
}

// Calls cell(j, lane) for j = 0 .. length - 1: the lanes are independent, so the loop vectorises as it stands.
template <class Length, class Body>
inline void for_lanes(Length length, Body cell) {
  const Index lanes = length < 8 ? Index(length) : 8;
  for (Index j = 0; j < length; j += lanes)
    for (Index l = 0; l < lanes; ++l) cell(j + l, l);
}

struct Sum8 {
  double lane[8] = {};
  double total() const {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

}  // namespace
}  // namespace HFD_ISA
}  // namespace hfd
