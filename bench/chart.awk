# Draws what bench/run measured as SVG: one bar a judged line, as long as it is good, beside its goal.
# The goals differ (at least 20 x, at most 2 requests), so each bar is a share of its own goal, and
# a bar that crosses the line at 1 has met it.
#
#   awk -v run=TEXT -f bench/chart.awk LINES >CHART.svg      LINES as the programs print them

BEGIN {
  FS = "\t"
  left = 380; unit = 170; most = 2; bar = 16; row = 26; top = 44  # pixels; shares of the goal
  right = left + unit * most
}

function text(x, y, anchor, words) {
  gsub(/&/, "\\&amp;", words); gsub(/</, "\\&lt;", words)
  return sprintf("<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words)
}
function line(x, kind) {
  return sprintf("<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", x, top - 8, x, bottom, kind)
}

$5 ~ /^at (least|most) / {
  split($5, goal, " ")
  measured = $4 + 0
  if (goal[3] + 0 == 0) next  # Nothing can be a share of 0.
  share = goal[2] == "least" ? measured / goal[3] : measured > 0 ? goal[3] / measured : most
  what[++rows] = $1
  judged[rows] = $4 ", goal " $5
  sub(/ \(.*\)/, "", judged[rows])
  shares[rows] = share < most ? share : most
  kind[rows] = $6 == "met" ? "met" : "missed"
}

END {
  bottom = top + rows * row
  facts = split(run, fact, "; ")
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", right + 230, bottom + 16 + 16 * facts
  print "<style>.met{fill:#3a7d44}.missed{fill:#c0392b}.goal{stroke:#222;stroke-width:2}.edge{stroke:#bbb}</style>"
  print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
  printf "%s%s", text(left + unit, top - 14, "middle", "goal"), text(left, top - 14, "middle", "0")
  printf "%s", text(right, top - 14, "middle", most " x the goal or more")
  printf "%s%s", line(left, "edge"), line(right, "edge")
  for (r = 1; r <= rows; r++) {
    y = top + (r - 1) * row
    printf "%s", text(left - 8, y + bar - 3, "end", what[r])
    printf "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" class=\"%s\"/>\n", left, y, unit * shares[r], bar, kind[r]
    printf "%s", text(right + 8, y + bar - 3, "start", judged[r])
  }
  print line(left + unit, "goal")
  for (f = 1; f <= facts; f++) printf "%s", text(8, bottom + 4 + 16 * f, "start", fact[f])
  print "</svg>"
}
