// Histograms of differences: a bar leads to its sentences (it is a link), and a range of bars is
// selected by dragging, or by choosing a bar with Shift held.

const histograms = [...document.querySelectorAll(".histogram")];
const rangeOf = (bar) => [Number(bar.dataset.low), Number(bar.dataset.high)];

function barAt(histogram, event) {
  return [...histogram.querySelectorAll("[data-low]")].find((bar) => {
    const { left, right } = bar.querySelector(".area").getBoundingClientRect();
    return event.clientX >= left && event.clientX < right;
  });
}

// Show which bars are selected.
function markBars(pair, low, high) {
  for (const histogram of histograms) {
    for (const bar of histogram.querySelectorAll("[data-low]")) {
      const [begin, end] = rangeOf(bar);
      bar.classList.toggle("selected", histogram.dataset.pair === pair && begin >= low && end <= high);
    }
  }
}

function markSelectedBars() {
  const [a, b, low, high] = state.difference.split(":");
  markBars(`${a}:${b}`, Number(low), Number(high));
}

function selectRange(histogram, bars) {
  const ends = bars.flatMap(rangeOf);
  const range = `${histogram.dataset.pair}:${Math.min(...ends)}:${Math.max(...ends)}`;
  navigate({ difference: range, page: "1" });
}

for (const histogram of histograms) {
  let first = null;
  let dragged = false;
  histogram.addEventListener("pointerdown", (event) => {
    first = event.button === 0 && !event.shiftKey ? barAt(histogram, event) : null;
    dragged = false;
  });
  histogram.addEventListener("pointermove", (event) => {
    const bar = first && barAt(histogram, event);
    if (!bar || (bar === first && !dragged)) return;
    dragged = true;
    const ends = [first, bar].flatMap(rangeOf);
    markBars(histogram.dataset.pair, Math.min(...ends), Math.max(...ends));
  });
  histogram.addEventListener("dragstart", (event) => event.preventDefault()); // of the links
  histogram.addEventListener("click", (event) => {
    const bar = barAt(histogram, event) ?? event.target.closest("[data-low]");
    const [a, b, low, high] = state.difference.split(":");
    if (event.shiftKey && bar && `${a}:${b}` === histogram.dataset.pair) {
      event.preventDefault();
      const selected = [...histogram.querySelectorAll("[data-low]")].filter(
        (one) => rangeOf(one)[0] >= Number(low) && rangeOf(one)[1] <= Number(high));
      selectRange(histogram, [...selected, bar]);
    } else if (dragged) event.preventDefault();
    dragged = false;
  });
  document.addEventListener("pointerup", (event) => {
    const last = first && dragged ? barAt(histogram, event) : null;
    if (first && dragged && last) selectRange(histogram, [first, last]);
    else if (first && dragged) markSelectedBars();
    first = null;
  });
  document.addEventListener("pointercancel", () => {
    first = null;
    dragged = false;
    markSelectedBars();
  });
}
