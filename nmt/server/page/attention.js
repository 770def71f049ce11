// The attention map of the line at the cursor. In: the pieces of source and translation, and the weights of the last
// layer. Out: a drawing with a row for each piece of the translation; a stronger colour means more attention.

import { draw, make } from "./dom.js";

const CELL = 22;
const [LEFT, TOP] = [120, 110];
const MOST_PIECES = 80;

const label = (piece) => piece.replaceAll("▁", "") || "·";

/** `map`: the attention of a translation; if there is none, `otherwise` is shown. */
export function showAttention(panel, map, otherwise = "The attention of the line at the cursor appears here.") {
  const content = map?.weights.length
    ? [make("div", { class: "map" }, drawMap(map)), make("p", { class: "note" }, NOTE)]
    : [make("p", { class: "empty" }, otherwise)];
  panel.replaceChildren(...content);
}

const NOTE =
  "Each row is a piece of the translation, each column a piece of your text. The stronger the colour, the " +
  "more the model looked there when it wrote the piece.";

function drawMap({ source, target, weights }) {
  const [columns, rows] = [source.slice(0, MOST_PIECES), target.slice(0, MOST_PIECES)];
  const [width, height] = [LEFT + columns.length * CELL + 40, TOP + rows.length * CELL + 4];
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const picture = draw("svg", { ...size, role: "img", "aria-label": inWords(columns, rows, weights) });
  columns.forEach((piece, i) => {
    const x = LEFT + (i + 0.65) * CELL;
    picture.append(draw("text", { x, y: TOP - 8, transform: `rotate(-50 ${x} ${TOP - 8})` }, label(piece)));
  });
  rows.forEach((piece, j) => {
    const y = TOP + j * CELL;
    picture.append(draw("text", { x: LEFT - 10, y: y + 15, "text-anchor": "end" }, label(piece)));
    columns.forEach((from, i) => {
      const weight = weights[j]?.[i] ?? 0;
      const square = { x: LEFT + i * CELL + 1, y: y + 1, width: CELL - 2, height: CELL - 2, rx: 3 };
      const cell = draw("rect", { ...square, "fill-opacity": (0.04 + 0.96 * weight).toFixed(3) });
      cell.append(draw("title", {}, `${label(piece)} ← ${label(from)}: ${Math.round(100 * weight)}%`));
      picture.append(cell);
    });
  });
  return picture;
}

/** For a screen reader: where each piece looks most. */
function inWords(source, target, weights) {
  const most = target.map((piece, j) => {
    const row = source.map((_, i) => weights[j]?.[i] ?? 0);
    return `${label(piece)} from ${label(source[row.indexOf(Math.max(...row))] ?? "")}`;
  });
  return `Attention: ${most.join(", ")}`;
}
