(() => {
  const data = JSON.parse(document.getElementById("neighbors-data").textContent);
  const root = document.getElementById("neighbors");
  const options = [...root.querySelectorAll("[data-query]")];
  for (const image of root.querySelectorAll("[data-item]")) image.src = data.items[image.dataset.item][2];
  const part = (role) => root.querySelector(`[data-role="${role}"]`);

  const add = (parent, tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text) element.textContent = text;  // never as HTML: names may contain anything
    parent.append(element);
    return element;
  };

  const addName = (parent, name) => {  // lines break after slashes rather than within words
    const element = add(parent, "span", "name");
    name.split(/(?<=\/)/).forEach((piece, i) => {
      if (i) add(element, "wbr");
      element.append(piece);
    });
  };

  const list = (target, neighbors, label) => {
    if (!target) return;
    target.replaceChildren();
    for (const [index, distance] of neighbors) {
      const [name, other, picture] = data.items[index];
      const entry = add(target, "li");
      if (label && other) entry.className = label === other ? "same" : "other";
      if (picture) {
        const image = add(entry, "img");
        image.alt = "";
        image.width = image.height = 64;
        image.src = picture;
      }
      addName(entry, name);
      if (other) add(entry, "span", "label", (label && label !== other ? "✗ " : "") + other);
      add(entry, "span", "distance", distance.toPrecision(3));
    }
    if (!neighbors.length) add(target, "li", "", "none");
  };

  const choose = (place, focus) => {
    const query = data.queries[place];
    const [name, label, picture] = data.items[query.item];
    options.forEach((option, i) => {
      option.setAttribute("aria-selected", i === place ? "true" : "false");
      option.tabIndex = i === place ? 0 : -1;
    });
    if (focus) options[place].focus();
    part("title").textContent = "Neighbours of " + name + (label ? " (" + label + ")" : "");
    part("picture").hidden = !picture;
    if (picture) part("picture").src = picture;
    part("note").textContent = query.note;
    part("note").hidden = !query.note;
    list(part("before"), query.before, label);
    list(part("after"), query.after, label);
  };

  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  options.forEach((option, i) => {
    option.addEventListener("click", () => choose(i, true));
    option.addEventListener("keydown", (event) => {
      const last = options.length - 1;
      let place = null;
      if (event.key in steps) place = Math.min(last, Math.max(0, i + steps[event.key]));
      else if (event.key === "Home") place = 0;
      else if (event.key === "End") place = last;
      else if (event.key === "Enter" || event.key === " ") place = i;
      if (place === null) return;
      event.preventDefault();
      choose(place, true);
    });
  });
  if (options.length) choose(0, false);
})();
