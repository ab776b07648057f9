// The search of the site, in the browser: sections that match what is typed, best first.
const { SEARCH, MiniSearch } = window;
const index = MiniSearch.loadJSON(SEARCH.index, SEARCH.options);
const { base } = document.documentElement.dataset;
const input = document.querySelector("#search");
const results = document.querySelector("#results");
const MOST = 12;

input.addEventListener("input", () => {
  const found = index.search(input.value);
  results.replaceChildren(...found.slice(0, MOST).map(renderResult));
  if (input.value.length > 1 && found.length === 0) results.textContent = "No page matches.";
  results.hidden = input.value.length < 2;
});

document.addEventListener("keydown", ({ key, target }) => {
  if (key === "Escape") results.hidden = true;
  if (key !== "/" || target === input) return;
  input.focus();
  setTimeout(() => input.select());
});

document.addEventListener("click", ({ target }) => {
  if (!target.closest("header")) results.hidden = true;
});

input.form?.addEventListener("submit", (event) => event.preventDefault());
input.addEventListener("keydown", ({ key }) => {
  if (key === "Enter") results.querySelector("a")?.click();
});

function renderResult({ heading, title, href }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = base + href;
  link.textContent = heading;
  const page = document.createElement("small");
  page.textContent = title === heading ? "" : title;
  link.append(page);
  item.append(link);
  return item;
}
