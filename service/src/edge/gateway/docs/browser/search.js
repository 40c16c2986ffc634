/** Searches the prebuilt index of operations, events, guides and problems. Loads it at the first key. */
const resultsMax = 12
const field = document.getElementById('search-text')
const list = document.getElementById('search-results')
let loading

const load = () =>
  (loading ??= fetch('/docs/search.json')
    .then((response) => response.json())
    .then((entries) =>
      entries.map((entry) => ({
        ...entry,
        title: entry.title,
        titleKey: entry.title.toLowerCase(),
        textKey: entry.text.toLowerCase(),
        fieldKeys: (entry.fields ?? '').toLowerCase().split(' '),
      })),
    ))

/** Every word must occur. A word in the title counts more than a field of this name, and a whole code most. */
function scoreOf(entry, words) {
  let score = 0
  for (const word of words) {
    const inTitle = entry.titleKey.includes(word)
    const isField = entry.fieldKeys.includes(word)
    if (!inTitle && !isField && !entry.textKey.includes(word)) return 0
    score += inTitle ? 5 : 1
    if (isField) score += 2
    if (`${entry.titleKey} ${entry.textKey}`.split(' ').includes(word)) score += 1
    if (entry.path.toLowerCase().endsWith(`/${word}`)) score += 10
  }
  return score
}

function resultOf({ kind, title, path }) {
  const link = document.createElement('a')
  link.href = path
  const label = document.createElement('span')
  label.textContent = kind
  link.append(label, title)
  const item = document.createElement('li')
  item.append(link)
  return item
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return close()
  const entries = await load()
  const found = entries
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    // On a tie, the title with the fewest other words comes first.
    .sort((a, b) => b.score - a.score || a.entry.title.length - b.entry.title.length)
    .slice(0, resultsMax)
  const none = document.createElement('li')
  none.textContent = 'Nothing found.'
  list.replaceChildren(...(found.length === 0 ? [none] : found.map(({ entry }) => resultOf(entry))))
  list.hidden = false
}

function close() {
  list.hidden = true
  list.replaceChildren()
}

field.addEventListener('input', () => void search())
document.getElementById('search').addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') close()
})
document.addEventListener('click', (event) => {
  if (event.target.closest?.('#search') === null) close()
})
// swagger-ui reads the place in the fragment only when the page loads.
list.addEventListener('click', (event) => {
  const link = event.target.closest('a')
  close()
  if (link === null || link.pathname !== location.pathname || !link.hash.startsWith('#/')) return
  event.preventDefault()
  location.hash = link.hash
  location.reload()
})
