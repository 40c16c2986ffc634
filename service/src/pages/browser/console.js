/**
 * What needs JavaScript in the console: passkeys, key pairs, copy buttons, the key of the search, files that were chosen before a sign-in,
 * and times in the zone of the reader. All else is written by the service.
 */
const live = document.getElementById('live')

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
const textOf = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const withBytes = (list) => list?.map((each) => ({ ...each, id: bytesOf(each.id) }))

/** Reads the options of the service, also in a browser without the methods of WebAuthn level 3. */
function readOptions(kind, json) {
  const method = kind === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON'
  if (PublicKeyCredential[method]) return PublicKeyCredential[method](json)
  const { user, allowCredentials, excludeCredentials, ...rest } = json
  return {
    ...rest,
    challenge: bytesOf(json.challenge),
    ...(user && { user: { ...user, id: bytesOf(user.id) } }),
    ...(allowCredentials && { allowCredentials: withBytes(allowCredentials) }),
    ...(excludeCredentials && { excludeCredentials: withBytes(excludeCredentials) }),
  }
}

/** Password managers replace credentials by objects of their own, whose `toJSON` is absent or throws. */
function writeCredential(credential) {
  try {
    return JSON.stringify(credential.toJSON())
  } catch {
    const { id, rawId, type, response } = credential
    const parts = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']
    return JSON.stringify({
      id,
      rawId: textOf(rawId),
      type,
      authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
      clientExtensionResults: credential.getClientExtensionResults?.() ?? {},
      response: {
        ...Object.fromEntries(parts.flatMap((part) => (response[part] ? [[part, textOf(response[part])]] : []))),
        transports: response.getTransports?.(),
      },
    })
  }
}

async function usePasskey(form) {
  const { kind, options, cancelled, exists, failed } = form.dataset
  const error = form.querySelector('[role=alert]')
  const button = form.querySelector('button')
  error.textContent = ''
  button.disabled = true
  try {
    const publicKey = readOptions(kind, JSON.parse(options))
    const credential = await navigator.credentials[kind]({ publicKey })
    form.elements.namedItem('credential').value = writeCredential(credential)
    form.submit()
  } catch ({ name }) {
    const texts = { NotAllowedError: cancelled, AbortError: cancelled, InvalidStateError: exists }
    error.textContent = texts[name] ?? failed
    button.disabled = false
    button.focus()
  }
}

for (const section of document.querySelectorAll('[data-passkey]')) {
  if (!window.PublicKeyCredential || !navigator.credentials) {
    section.remove()
    continue
  }
  section.hidden = false
  section.querySelector('form').addEventListener('submit', (event) => {
    event.preventDefault()
    void usePasskey(event.target)
  })
}

/** A slash goes to the search, unless the reader is typing. */
addEventListener('keydown', (event) => {
  const find = document.getElementById('find')
  const isTyping = event.target.matches('input, textarea, select, [contenteditable]')
  if (find === null || event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  find.select()
})

/** Back shows the page as it was left: the form must work again. */
addEventListener('pageshow', () => {
  for (const button of document.querySelectorAll('[data-passkey] button')) button.disabled = false
})

const pemOf = (kind, buffer) => {
  const text = btoa(String.fromCharCode(...new Uint8Array(buffer)))
  return `-----BEGIN ${kind} KEY-----\n${text.match(/.{1,64}/g).join('\n')}\n-----END ${kind} KEY-----\n`
}

/** Makes a key pair, sends its public half with the form, and offers the credentials as a file. */
async function makeKey(form) {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048 }
  const parameters = { ...algorithm, publicExponent: Uint8Array.of(1, 0, 1) }
  const { publicKey, privateKey } = await crypto.subtle.generateKey(parameters, true, ['sign', 'verify'])
  form.elements.namedItem('publicKeyPem').value = pemOf('PUBLIC', await crypto.subtle.exportKey('spki', publicKey))
  const body = new URLSearchParams([...new FormData(form), ['answer', 'data']])
  const answer = await fetch(form.action, { method: 'POST', body, redirect: 'manual' })
  // The page says what is wrong, or asks for the sign-in. Nothing was created. The sign-in ends this page, and with it the private half.
  if (answer.type === 'opaqueredirect') form.elements.namedItem('publicKeyPem').value = ''
  if (answer.type === 'opaqueredirect' || answer.status === 400) return form.submit()
  const issued = await answer.json()
  const privateKeyPem = pemOf('PRIVATE', await crypto.subtle.exportKey('pkcs8', privateKey))
  const credentials = { baseUrl: location.origin, ...issued, privateKeyPem }
  const file = new Blob([`${JSON.stringify(credentials, null, 2)}\n`], { type: 'application/json' })
  const panel = document.querySelector('[data-issued]')
  const open = panel.querySelector('[data-open]')
  panel.querySelector('[data-save]').href = URL.createObjectURL(file)
  open.href = new URL(issued.serviceAccountId, new URL(open.getAttribute('data-open'), document.baseURI))
  document.querySelector('.summary')?.remove()
  form.hidden = true
  panel.hidden = false
  panel.focus()
}

for (const form of document.querySelectorAll('[data-keypair]')) {
  if (!window.crypto?.subtle) continue
  const part = form.querySelector('[data-make]')
  const error = part.querySelector('[role=alert]')
  part.hidden = false
  form.addEventListener('submit', (event) => {
    const button = event.submitter
    if (!button?.matches('[data-make-key]')) return
    event.preventDefault()
    error.textContent = ''
    button.disabled = true
    makeKey(form)
      .catch(() => {
        error.textContent = form.dataset.failed
      })
      .finally(() => {
        button.disabled = false
      })
  })
}

async function copy(button) {
  const [label] = button.children
  const { copied } = button.dataset
  const before = label.textContent
  if (before === copied) return
  try {
    await navigator.clipboard.writeText(button.dataset.copy)
  } catch {
    return
  }
  label.textContent = copied
  live.textContent = copied
  setTimeout(() => {
    label.textContent = before
    live.textContent = ''
  }, 2000)
}

function enableCopying(root) {
  for (const button of root.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) {
      button.remove()
      continue
    }
    button.hidden = false
    button.addEventListener('click', () => void copy(button))
  }
}
enableCopying(document)

/** A file that was chosen before the session ended is chosen again. */
for (const input of document.querySelectorAll('[data-kept-content]')) {
  const { keptName, keptType, keptContent } = input.dataset
  const chosen = new DataTransfer()
  const bytes = Uint8Array.from(atob(keptContent), (char) => char.charCodeAt(0))
  chosen.items.add(new File([bytes], keptName, { type: keptType }))
  input.files = chosen.files
}

/** Tells the service the zone of the browser, so that the next page is written in it. */
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
const zoneCookie = `__Host-browser-zone=${encodeURIComponent(zone)}`
if (zone && !document.cookie.split('; ').includes(zoneCookie))
  document.cookie = `${zoneCookie}; Path=/; Secure; SameSite=Lax; Max-Age=31536000`

const forms = {
  date: { dateStyle: 'medium' },
  time: { dateStyle: 'medium', timeStyle: 'short' },
  seconds: { dateStyle: 'medium', timeStyle: 'medium' },
}
/** The reader's own variety of the language of the page, such as `en-GB`. */
const { lang } = document.documentElement
const locale = navigator.languages.find((each) => each.split('-')[0] === lang) ?? lang

function showLocalTimes(root) {
  for (const time of root.querySelectorAll('time[data-local]')) {
    const form = forms[time.dataset.local]
    time.textContent = new Intl.DateTimeFormat(locale, form).format(new Date(time.dateTime))
  }
}
showLocalTimes(document)

/** Counts down what is left of a time that the service gave in seconds: the clock of the browser may be wrong. */
for (const timer of document.querySelectorAll('[data-seconds]')) {
  const { seconds, left, over } = timer.dataset
  const end = Date.now() + seconds * 1000
  const show = () => {
    const rest = Math.ceil((end - Date.now()) / 1000)
    if (rest <= 0) {
      timer.textContent = over
      live.textContent = over
      return
    }
    const minutes = Math.floor(rest / 60)
    timer.textContent = left.replace('{time}', `${minutes}:${String(rest % 60).padStart(2, '0')}`)
    setTimeout(show, 250)
  }
  show()
}

/** Parts that change while the page is open. A request does not use the session, and after some minutes there are no more. */
const liveParts = () => [...document.querySelectorAll('[data-live]')]
const isMoving = () => liveParts().some((part) => part.dataset.live !== '')
const liveMs = 4000
const liveUntil = Date.now() + 15 * 60_000
const trusted = window.trustedTypes?.createPolicy('live', { createHTML: (text) => text })

function replaceLive(text) {
  const template = document.createElement('template')
  template.innerHTML = trusted ? trusted.createHTML(text) : text
  const [before, next] = [liveParts(), [...template.content.children]]
  if (before.length !== next.length) return
  for (const [at, part] of before.entries()) {
    // The reader is at work in it.
    if (part.contains(document.activeElement) || part.innerHTML === next[at].innerHTML) continue
    const [was, is] = [part, next[at]].map((each) => each.querySelector('.badge')?.textContent)
    enableCopying(next[at])
    showLocalTimes(next[at])
    part.replaceWith(next[at])
    if (is !== undefined && is !== was) live.textContent = is
  }
}

async function watchLive() {
  let etag = ''
  while (isMoving() && Date.now() < liveUntil) {
    await new Promise((resolve) => setTimeout(resolve, liveMs))
    if (document.hidden) continue
    const headers = { 'X-Live': '1', ...(etag !== '' && { 'If-None-Match': etag }) }
    const answer = await fetch(location.href, { headers, redirect: 'manual' }).catch(() => undefined)
    if (answer === undefined || answer.status === 304) continue
    // The session has rested or ended: the next click says so.
    if (answer.status !== 200) return
    etag = answer.headers.get('etag') ?? ''
    replaceLive(await answer.text())
  }
}
void watchLive()
/** Adds a row of fields without a request: a copy of the last one, with the next number. Without a script the form comes back with one more. */
for (const button of document.querySelectorAll('button[data-add-row]')) {
  button.addEventListener('click', (event) => {
    const rows = button.closest('fieldset').querySelectorAll('[data-row]')
    const last = rows[rows.length - 1]
    if (!last || rows.length >= Number(button.dataset.addRow)) return
    event.preventDefault()
    const row = last.cloneNode(true)
    const [from, to] = [Number(last.dataset.row), Number(last.dataset.row) + 1]
    const next = (text) => text.replace(`item${from}`, `item${to}`)
    row.dataset.row = String(to)
    for (const note of row.querySelectorAll('.error')) note.remove()
    for (const label of row.querySelectorAll('label')) {
      label.htmlFor = next(label.htmlFor)
      label.textContent = label.textContent.replace(String(from + 1), String(to + 1))
    }
    for (const input of row.querySelectorAll('input')) {
      input.id = next(input.id)
      input.name = next(input.name)
      input.value = ''
      input.removeAttribute('aria-invalid')
      input.removeAttribute('aria-describedby')
    }
    for (const field of row.querySelectorAll('.wrong')) field.classList.remove('wrong')
    last.after(row)
    row.querySelector('input').focus()
    button.hidden = to + 1 >= Number(button.dataset.addRow)
  })
}
