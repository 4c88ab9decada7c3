"use strict";
(() => {
  // "< .001" lies below ".001"; "-" is missing and stands last either way.
  const value = (text) => {
    const found = text.replace(/,(?=\d{3})/g, "").match(/-?\d*\.?\d+(?:e[-+]?\d+)?/i);
    if (!found) return text.includes("inf") ? (text.includes("-inf") ? -Infinity : Infinity) : NaN;
    return Number(found[0]) - (text.trim().startsWith("<") ? 1e-9 : 0);
  };

  const compare = (numeric, sign) => (a, b) => {
    if (!numeric) return sign * a.localeCompare(b, undefined, { numeric: true });
    const x = value(a), y = value(b);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return x === y ? 0 : sign * (x < y ? -1 : 1);
  };

  // Every heading becomes a button; a second click turns the order round.
  const sortable = (heads, sort) => {
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(column, down ? -1 : 1);
      });
    });
  };

  for (const table of document.querySelectorAll("table.sorted")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    sortable(heads, (column, sign) => {
      const order = compare(heads[column].classList.contains("number"), sign);
      const text = (row) => row.cells[column].textContent;
      body.append(...[...body.rows].sort((a, b) => order(text(a), text(b))));
    });
  }

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(button.nextElementSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = document.execCommand("copy") ? "Copied" : "Copy the selected text";
    });
  }

  // A link to a section opens it, and what is printed is all of them.
  const sections = document.querySelectorAll("section > details");
  addEventListener("hashchange", () => {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (found) found.querySelector("details").open = true;
  });
  addEventListener("beforeprint", () => sections.forEach((one) => { one.open = true; }));
})();
