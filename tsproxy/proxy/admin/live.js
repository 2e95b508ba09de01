// Fetches the page again every two seconds and replaces its <main>. The rate of a counter comes from its
// values of the last ten seconds. A hidden page fetches nothing.
"use strict";
const EVERY_MS = 2000, SPAN_MS = 10000;
const looks = [];
let isLooking = false;

function counted(main) {
  const counts = new Map();
  for (const each of main.querySelectorAll("[data-count]")) counts.set(each.id, Number(each.dataset.count));
  return { atMs: Number(main.dataset.nowMs), counts };
}

function words(rate, unit) {
  const [size, prefix] = rate >= 1e9 ? [1e9, "G"] : rate >= 1e6 ? [1e6, "M"] : rate >= 1e4 ? [1e3, "k"] : [1, ""];
  return (rate / size).toFixed(size > 1 || (rate > 0 && rate < 10) ? 1 : 0) + " " + prefix + unit + "/s";
}

function putRates(main, look) {
  const before = looks[0];
  if (!before || look.atMs <= before.atMs) return;
  for (const each of main.querySelectorAll("[data-rate-of]")) {
    const rate = (look.counts.get(each.dataset.rateOf) - before.counts.get(each.dataset.rateOf)) * 1000 / (look.atMs - before.atMs);
    if (rate >= 0) each.textContent = words(rate, each.dataset.unit || "");
  }
}

async function look() {
  if (document.hidden || isLooking) return;
  isLooking = true;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.status);
    const main = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    const now = counted(main);
    if (looks.length && now.atMs < looks[looks.length - 1].atMs) looks.length = 0;
    putRates(main, now);
    looks.push(now);
    while (looks.length > 1 && now.atMs - looks[1].atMs >= SPAN_MS) looks.shift();
    const places = [...document.querySelectorAll(".scroll")].map(each => each.scrollLeft);
    document.querySelector("main").replaceWith(main);
    main.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = places[index] || 0; });
    document.body.classList.remove("lost");
  } catch {
    document.body.classList.add("lost");
  } finally {
    isLooking = false;
  }
}

looks.push(counted(document.querySelector("main")));
setInterval(look, EVERY_MS);
