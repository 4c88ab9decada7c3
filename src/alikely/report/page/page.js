"use strict";
(() => {
  const ROWS = 50;

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

  const lay = (details) => {
    const packed = JSON.parse(document.getElementById(details.dataset.rows).textContent);
    // A column is its texts, or the texts that recur with their places.
    const columns = packed.map((one) =>
      Array.isArray(one[0]) ? one[1].map((at) => one[0][at]) : one);
    const numeric = [...details.dataset.numbers].map((digit) => digit === "1");
    const first = details.parentElement.querySelectorAll("table.sorted");
    const above = [...first].filter((table) =>
      details.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_PRECEDING).pop();
    let order = columns[0].map((_, row) => row), page = 0;

    const box = document.createElement("div"), table = document.createElement("table");
    box.className = "wide";
    table.className = above.classList.contains("dense") ? "dense" : "";
    const head = table.createTHead().insertRow();
    for (const cell of above.tHead.rows[0].cells) {
      const th = document.createElement("th");
      th.scope = "col";
      th.className = cell.className;
      th.textContent = cell.textContent;
      head.append(th);
    }
    const body = table.createTBody(), turn = document.createElement("div");
    turn.className = "turn";
    const back = document.createElement("button"), on = document.createElement("button");
    const where = document.createElement("span");
    back.type = on.type = "button";
    back.textContent = "Previous";
    on.textContent = "Next";
    turn.append(back, on, where);

    const show = () => {
      const shown = order.slice(page * ROWS, (page + 1) * ROWS);
      body.replaceChildren(...shown.map((row) => {
        const line = document.createElement("tr");
        columns.forEach((column, at) => {
          const cell = line.insertCell();
          cell.textContent = column[row];
          cell.dataset.head = above.tHead.rows[0].cells[at].textContent;
          if (numeric[at]) cell.className = "number";
          else if (column[row].length > 30) cell.className = "long";
        });
        return line;
      }));
      where.textContent = `${page * ROWS + 1} to ${page * ROWS + shown.length} of ${order.length}`;
      back.disabled = page === 0;
      on.disabled = (page + 1) * ROWS >= order.length;
    };
    back.addEventListener("click", () => { page -= 1; show(); });
    on.addEventListener("click", () => { page += 1; show(); });
    sortable([...head.cells], (column, sign) => {
      const own = compare(numeric[column], sign), texts = columns[column];
      order.sort((a, b) => own(texts[a], texts[b]));
      page = 0;
      show();
    });
    box.append(table);
    details.append(turn, box);
    show();
  };
  for (const details of document.querySelectorAll("details.all")) {
    details.addEventListener("toggle", () => lay(details), { once: true });
  }

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(button.nextElementSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected: copy it";
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
