/**
 * What needs JavaScript on the payment page: copy buttons, countdown, and the live status. The page itself is always written
 * by the service: when the status changes, the new page is fetched and its main part is exchanged.
 */
const live = document.getElementById('live')
let main = document.getElementById('main')

/** An open page asks every 2 seconds at first, then more and more seldom; a hidden page does not ask. */
const pollMs = { least: 2000, most: 15_000, growAfter: 15 }
const returnMs = 10_000
/** A countdown of days helps no payer: the time itself is shown. */
const countedSecondsMax = 86_400
let asked = 0
let timer
let clockTimer

const nextPollMs = () => Math.min(pollMs.most, pollMs.least * 1.5 ** Math.max(0, asked - pollMs.growAfter))

function showCopyButtons() {
  if (!navigator.clipboard) return
  for (const button of main.querySelectorAll('.copy')) {
    button.hidden = false
    button.addEventListener('click', () => void copy(button))
  }
}

async function copy(button) {
  const { copied } = button.closest('dl').dataset
  const label = button.firstChild
  const before = label.data
  if (before === copied) return
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
  } catch {
    return
  }
  label.data = copied
  live.textContent = copied
  setTimeout(() => {
    label.data = before
    live.textContent = ''
  }, 2000)
}

/** Writes times in the zone of the reader. The time in UTC stays in the title. */
function showLocalTimes() {
  const form = new Intl.DateTimeFormat(document.documentElement.lang, {
    ...{ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  })
  for (const time of main.querySelectorAll('time.local')) {
    time.title = time.textContent
    time.textContent = form.format(new Date(time.dateTime))
  }
}

/** Counts by the clock of the service, because that of a phone may be wrong. */
function startCountdown() {
  clearInterval(clockTimer)
  const line = main.querySelector('.timer')
  const end = Date.parse(main.dataset.expires)
  if (!line || !end) return
  const ahead = Date.now() - Date.parse(main.dataset.now)
  const show = () => {
    const seconds = Math.ceil((end - Date.now() + ahead) / 1000)
    line.hidden = seconds > countedSecondsMax
    if (line.hidden) return
    if (seconds <= 0) {
      line.textContent = line.dataset.over
      clearInterval(clockTimer)
      asked = 0
      schedule(500)
      return
    }
    const two = (number) => String(number).padStart(2, '0')
    const hours = Math.floor(seconds / 3600)
    const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
    line.textContent = `${line.dataset.left} ${hours > 0 ? `${hours}:${rest}` : rest}`
  }
  clockTimer = setInterval(show, 1000)
  show()
}

function schedule(ms = nextPollMs()) {
  clearTimeout(timer)
  if (main.dataset.status && !document.hidden) timer = setTimeout(poll, ms)
}

async function poll() {
  asked += 1
  try {
    const headers = { 'If-None-Match': `"${main.dataset.state}"` }
    const answer = await fetch(main.dataset.status, { headers, cache: 'no-store' })
    if (answer.status === 200) await exchange()
    else if (answer.status !== 304) asked += pollMs.growAfter
  } catch {
    // The network is away for a moment.
    asked += pollMs.growAfter
  }
  schedule()
}

async function exchange() {
  const answer = await fetch(location.href, { cache: 'no-store' })
  if (!answer.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const next = page.getElementById('main')
  if (!next || next.dataset.state === main.dataset.state) return
  const hadFocus = main.contains(document.activeElement)
  main.replaceWith(next)
  main = next
  asked = 0
  document.title = page.title
  live.textContent = page.title
  if (hadFocus) main.querySelector('h1')?.focus()
  begin()
  returnSoon()
}

/** Leads back to the shop, once the payer has seen that the money has arrived. Who opens the page later stays. */
function returnSoon() {
  const line = main.querySelector('.returning')
  const link = main.querySelector('.return')
  if (!line || !link) return
  line.hidden = false
  const returning = setTimeout(() => location.assign(link.href), returnMs)
  line.querySelector('.stay').addEventListener('click', () => {
    clearTimeout(returning)
    line.hidden = true
    main.querySelector('h1')?.focus()
  })
}

function begin() {
  showCopyButtons()
  showLocalTimes()
  startCountdown()
}

begin()
schedule()
document.addEventListener('visibilitychange', () => {
  asked = 0
  if (document.hidden) clearTimeout(timer)
  else schedule(0)
})
