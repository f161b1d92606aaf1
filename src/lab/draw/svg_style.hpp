// lab/draw/svg_style.hpp: how a picture looks, in light and dark mode.
#pragma once

#include <string_view>

namespace holdfast::lab::draw {

inline constexpr int colours = 5;  // of processes: classes c0 … c4

inline constexpr std::string_view svg_style = R"(<style>
text { font: 12px system-ui, "Segoe UI", Helvetica, "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.name { font-size: 13px; font-weight: 600 }
.label, .key { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.label, .over { paint-order: stroke; stroke: #fff; stroke-width: 4px; stroke-linejoin: round }
.faint { fill: #59636e; font-size: 11px }
.page { fill: #fff }
.grid { stroke: #e4e7eb }
.rest { stroke: #d1d9e0; stroke-dasharray: 2 3 }
.wait { opacity: .45 }
.arrow { stroke-width: 1.3; opacity: .6 }
.answer { stroke-dasharray: 4 3; opacity: .45 }
.soft { fill-opacity: .18; stroke-width: 1.2 }
.doubt { fill-opacity: .45 }
.base { fill: #fff }
.gone { opacity: .75 }
.hatch { stroke: #8c959f }
.sign { fill: none; stroke: #fff; stroke-width: 2; stroke-linecap: round }
.cross { fill: none; stroke: #1f2328; stroke-width: 2.2; stroke-linecap: round }
.fault { fill: #1f2328 }
.on { fill: #fff; font-size: 11px }
.bad { fill: #cf222e; font-weight: 600 }
.strong { font-weight: 600 }
.good { fill: #1a7f37; font-weight: 600 }
.badband { fill: #cf222e; opacity: .13 }
.band { fill: #59636e; opacity: .12 }
.badline { stroke: #cf222e; stroke-width: 1.6 }
.line { stroke: #59636e; stroke-dasharray: 4 3 }
.refused { fill: #cf222e }
.c0 { fill: #0969da; stroke: #0969da } .c1 { fill: #9a6700; stroke: #9a6700 }
.c2 { fill: #1a7f37; stroke: #1a7f37 } .c3 { fill: #8250df; stroke: #8250df }
.c4 { fill: #0b7285; stroke: #0b7285 } .c5 { fill: #59636e; stroke: #59636e }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.label, .over { stroke: #0d1117 }
.faint { fill: #9198a1 }
.page, .base { fill: #0d1117 }
.grid { stroke: #21262d }
.rest { stroke: #3d444d }
.hatch { stroke: #656c76 }
.sign { stroke: #0d1117 }
.cross { stroke: #e6edf3 }
.fault { fill: #e6edf3 }
.on { fill: #0d1117 }
.bad { fill: #ff7b72 }
.good { fill: #3fb950 }
.badband { fill: #ff7b72; opacity: .18 }
.band { fill: #9198a1; opacity: .16 }
.badline { stroke: #ff7b72 }
.line { stroke: #9198a1 }
.refused { fill: #ff7b72 }
.c0 { fill: #58a6ff; stroke: #58a6ff } .c1 { fill: #e3b341; stroke: #e3b341 }
.c2 { fill: #3fb950; stroke: #3fb950 } .c3 { fill: #bc8cff; stroke: #bc8cff }
.c4 { fill: #39c5cf; stroke: #39c5cf } .c5 { fill: #9198a1; stroke: #9198a1 }
}
.arrow { fill: none }
.pause { fill: url(#hatch); stroke-width: 1.2; stroke-dasharray: 4 2 }
</style>
)";

}  // namespace holdfast::lab::draw
