"use strict";
// Tables sort by the column whose heading is pressed; a second press turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, j) => {
    const cell = row.cells[j];
    return cell.dataset.key === undefined ? cell.textContent : parseFloat(cell.dataset.key);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") {
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return a - b;
    }
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  heads.forEach((head, j) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((h) => h.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (down ? -1 : 1) * compare(value(a, j), value(b, j)));
    table.tBodies[0].append(...rows);
  }));
}
// Paper shows what is folded.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
