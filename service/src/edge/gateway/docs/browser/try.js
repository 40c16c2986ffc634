/** The credentials of "Try it out", in the memory of the page, and the interceptor that signs each request. */
import { filledExamples, refreshed, withExamples } from './fill.js'
import { importKey, signRequest } from './sign.js'

const at = (id) => document.getElementById(id)
let credentials
/** Shows the document with the filled examples. Set when the page starts. */
let showDocument

function show(text, isError = false) {
  at('credentials-state').textContent = text
  at('credentials-state').classList.toggle('error', isError)
}

/** A developer may paste the whole credentials file into any field. */
function readPastedFile(event) {
  const text = event.clipboardData?.getData('text') ?? ''
  if (!text.trim().startsWith('{')) return
  try {
    const { apiKey, apiSecret, privateKeyPem } = JSON.parse(text)
    event.preventDefault()
    at('api-key').value = apiKey ?? ''
    at('api-secret').value = apiSecret ?? ''
    at('private-key').value = privateKeyPem ?? ''
  } catch {
    show('The pasted text is not the credentials file.', true)
  }
}

async function use(event) {
  event.preventDefault()
  const apiKey = at('api-key').value.trim()
  const apiSecret = at('api-secret').value.trim()
  credentials = undefined
  if (apiKey === '' || apiSecret === '') return show('Enter the API key and the API secret.', true)
  try {
    credentials = { apiKey, apiSecret, key: await importKey(at('private-key').value) }
    show('Reading what your sandbox has ...')
    await fill(credentials)
    show('Ready. "Try it out" signs with these credentials.')
  } catch (error) {
    show(error.message, true)
  }
}

/** Sends a signed request of the page itself. Undefined: it was refused. */
const callOf = (given) => async (method, path, content) => {
  const body = content === undefined ? undefined : JSON.stringify(content)
  const url = new URL(path, location.href).href
  const { headers } = await signRequest(given, { method, url, body })
  const sent = body === undefined ? { headers } : { headers: { ...headers, 'Content-Type': 'application/json' }, body }
  const answer = await fetch(url, { method, ...sent })
  return answer.ok && answer.status !== 204 ? answer.json() : undefined
}

/** Fills the examples with resources of the sandbox. */
async function fill(given) {
  const [document, examples] = await Promise.all(
    ['/openapi.json', '/docs/examples.json'].map(async (path) => (await fetch(path)).json()),
  )
  showDocument(withExamples(document, await filledExamples(callOf(given), examples)))
}

function forget() {
  credentials = undefined
  for (const id of ['api-key', 'api-secret', 'private-key']) at(id).value = ''
  at('canonical').textContent = ''
  at('signed').hidden = true
  show('No credentials.')
}

export function startTrying(showing) {
  showDocument = showing
  const form = at('credentials')
  form.hidden = false
  form.addEventListener('submit', (event) => void use(event))
  form.addEventListener('paste', readPastedFile)
  at('forget').addEventListener('click', forget)
}

/** Called by swagger-ui for every request, also for the one that loads the document. */
export async function signInterceptor(asked) {
  const { pathname } = new URL(asked.url, location.href)
  const request = asked.loadSpec ? asked : refreshed(asked)
  if (request.loadSpec || !pathname.startsWith('/v1/')) return request
  if (credentials === undefined) {
    show('Enter your credentials first: the request was sent without a signature.', true)
    return request
  }
  const method = request.method.toUpperCase()
  const url = new URL(request.url, location.href).href
  const signed = await signRequest(credentials, { method, url, body: request.body })
  at('canonical').textContent = signed.canonical
  at('signed').hidden = false
  return { ...request, headers: { ...request.headers, ...signed.headers } }
}
