"use strict";
// The alignment as the paper draws it: source along the top, target down the side, 0 black, 1 white.

const MOST_CELLS = 40_000; // a browser draws more of them sluggishly

class AlignmentMatrix {
  constructor() {
    this.box = document.getElementById("matrix");
    this.table = this.box.querySelector("table");
    this.note = document.getElementById("matrix-note");
    this.tooltip = document.getElementById("matrix-tooltip");
    this.listen();
  }

  draw({ source, target, alignment, unknown }) {
    this.hide();
    const drawable = source.length * target.length <= MOST_CELLS;
    const size = `${target.length} × ${source.length} words`;
    this.note.textContent = drawable ? "" : `Too large to be drawn: ${size}.`;
    this.box.hidden = !drawable;
    this.table.replaceChildren();
    if (!drawable) return;
    this.table.classList.toggle("small", source.length > 14 && source.length <= 22);
    this.table.classList.toggle("tiny", source.length > 22);
    this.table.createTHead().append(headRow(source, unknown));
    this.table.createTBody().append(...target.map((word, i) => bodyRow(word, alignment[i])));
    this.table.querySelector("tbody td")?.setAttribute("tabindex", "0");
  }

  listen() {
    const cellAt = (event) => event.target.closest("tbody td");
    this.table.addEventListener("pointerover", (event) => this.show(cellAt(event)));
    this.table.addEventListener("pointerleave", () => this.show(this.focusedCell()));
    this.table.addEventListener("focusin", (event) => this.show(cellAt(event)));
    this.table.addEventListener("focusout", () => this.hide());
    this.table.addEventListener("click", (event) => {
      const cell = cellAt(event);
      if (cell) moveFocus(this.table.querySelector("td[tabindex='0']"), cell);
    });
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("scroll", () => this.show(this.focusedCell()));
    markCuts(this.box);
  }

  focusedCell() {
    return this.table.contains(document.activeElement) ? document.activeElement : null;
  }

  key(event) {
    if (event.altKey || event.metaKey) return; // the browser's Back and Forward
    if (event.key === "Escape") this.hide();
    const cell = event.target;
    const rows = [...this.table.tBodies[0].rows];
    const [row, column, last] = [rows.indexOf(cell.parentElement), cell.cellIndex, rows.length - 1];
    const right = rows[0].cells.length - 1;
    const there = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, Math.max(column - 1, 1)],
      ArrowRight: [row, column + 1],
      Home: [event.ctrlKey ? 0 : row, 1],
      End: [event.ctrlKey ? last : row, right],
    }[event.key];
    if (!there) return;
    event.preventDefault();
    moveFocus(cell, rows[there[0]]?.cells[there[1]]);
  }

  // Lights the words of a cell and tells its weight beside it.
  show(cell) {
    this.hide();
    if (!cell) return;
    const [row, column] = this.headers(cell);
    for (const header of [row, column]) header.classList.add("lit");
    this.tooltip.textContent =
      `${isolated(row.textContent)} ← ${isolated(column.textContent)}: ${cell.getAttribute("aria-label")}`;
    this.tooltip.hidden = false;
    const place = cell.getBoundingClientRect();
    const widest = document.documentElement.clientWidth - this.tooltip.offsetWidth - 4;
    this.tooltip.style.left = `${Math.max(4, Math.min(place.left, widest))}px`;
    this.tooltip.style.top = `${place.bottom + scrollY + 6}px`;
  }

  hide() {
    this.tooltip.hidden = true;
    for (const header of this.table.querySelectorAll("th.lit")) header.classList.remove("lit");
  }

  headers(cell) {
    return [cell.parentElement.cells[0], this.table.tHead.rows[0].cells[cell.cellIndex]];
  }
}

function headRow(source, unknown) {
  const row = make("tr");
  const cells = source.map((word, j) => header(word, "col", languages.source, unknown.has(j)));
  row.append(make("td"), ...cells);
  return row;
}

function bodyRow(word, weights) {
  const row = make("tr");
  row.append(header(word, "row", languages.target), ...weights.map(weightCell));
  return row;
}

function header(word, scope, lang, isUnknown = false) {
  const cell = make("th", { scope });
  const label = make("span", { dir: "auto" }, word);
  setLanguage(label, lang);
  markWord(cell, word, isUnknown);
  cell.append(label);
  return cell;
}

function weightCell(weight) {
  const cell = make("td", { tabindex: "-1", "aria-label": percent(weight) });
  const gray = Math.round(255 * weight);
  cell.style.backgroundColor = `rgb(${gray} ${gray} ${gray})`;
  return cell;
}
