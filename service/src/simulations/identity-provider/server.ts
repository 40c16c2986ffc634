/** The server of the simulated identity provider: the API for the connector, the page for browsers, and webhooks. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { timingSafeEqual } from 'node:crypto'
import { deliverySignature, identity, ownJson, parseUntrustedJson, Type } from '@partner-payments/wire'
import { after, type Clock, dayMs, type Log, newId, randomToken, secondMs } from '../../kernel/index.ts'
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** Faults of the provider, for tests. Each lasts while it is set. */
export type SimulatorFaults = {
  hangs?: boolean
  isDown?: boolean
  losesWebhooks?: boolean
  /** Sends each webhook twice, at the same time. */
  repeatsWebhooks?: boolean
  /** Refuses to erase. */
  keepsSessions?: boolean
}

type IdentitySimulator = {
  /** Serves the paths below `/identity-simulator`. */
  readonly listener: RequestListener
  /** Sets the address of the listener, including its path, for the pages of sessions. */
  readonly opened: (baseUrl: string) => void
  readonly baseUrl: () => string | undefined
}

type SimulatorDeps = {
  readonly clock: Clock
  readonly log: Log
  /** The key that authorises calls and signs webhooks. */
  readonly key: Uint8Array
  /** The file of the sessions. Absent: they are only in memory. */
  readonly file?: string
  readonly faults?: SimulatorFaults
}

const root = '/identity-simulator'
const bodyBytesMax = 65_536
/** The delays before each attempt to post a webhook. */
const webhookDelaysMs = [0, secondMs, 5 * secondMs] as const
const webhookTimeoutMs = 5 * secondMs

const pageHeaders = {
  'cache-control': 'no-store',
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

export function createIdentitySimulator(deps: SimulatorDeps): IdentitySimulator {
  const { log, faults = {} } = deps
  const sessions = createSessions({ clock: deps.clock, file: deps.file })
  let base: string | undefined
  const api = createApi(deps, sessions, () => base ?? '')
  const site = createSite(deps, sessions)
  const route = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? '').split('?', 1)[0]?.slice(root.length) ?? ''
    if (faults.hangs) return
    if (faults.isDown) return void response.writeHead(503).end()
    return path.startsWith('/v1/') ? api(path, request, response) : site(path, request, response)
  }
  return {
    listener: (request, response) => {
      route(request, response).catch((error: unknown) => {
        log.error({ err: error }, 'the simulated identity provider failed')
        if (!response.headersSent) response.writeHead(500)
        response.end()
      })
    },
    opened: (baseUrl) => {
      base = baseUrl
    },
    baseUrl: () => base,
  }
}

type Route = (path: string, request: IncomingMessage, response: ServerResponse) => Promise<void>
type Sessions = ReturnType<typeof createSessions>

/** Creates the API for the connector. */
function createApi({ key, faults = {} }: SimulatorDeps, sessions: Sessions, base: () => string): Route {
  const expected = Buffer.from(`Bearer ${Buffer.from(key).toString('base64url')}`)
  const isAuthorized = ({ headers }: IncomingMessage) => {
    const given = Buffer.from(headers.authorization ?? '')
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return async (path, request, response) => {
    if (!isAuthorized(request)) return answer(response, 401, { error: 'unauthorized' })
    if (path === '/v1/sessions' && request.method === 'POST') {
      const asked = readRequest(await readBody(request))
      if (asked === undefined) return answer(response, 400, { error: 'invalid request' })
      const { session, expiresAt } = sessions.start(asked)
      return answer(response, 200, { session, url: `${base()}/sessions/${session}`, expiresAt })
    }
    const [, erased] = /^\/v1\/references\/([\w.-]+)$/.exec(path) ?? []
    if (erased !== undefined && request.method === 'DELETE') {
      if (faults.keepsSessions) return answer(response, 409, { error: 'has to be kept' })
      sessions.erase(erased)
      return answer(response, 200, {})
    }
    const found = sessions.find(/^\/v1\/sessions\/([\w-]+)$/.exec(path)?.[1] ?? '')
    if (found === undefined) return answer(response, 404, { error: 'not found' })
    const { session, version, status, reason, evidence } = found
    return answer(response, 200, { session, version, status, reason, evidence })
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const text = Type.String({ maxLength: 2048 })
const Request = Type.Object({
  reference: Type.String({ minLength: 1, maxLength: 255 }),
  kinds: Type.Array(Type.Enum(identity.identityKinds), { minItems: 1, maxItems: 10 }),
  subject: Type.Record(Type.String(), text),
  returnUrl: Type.Union([text, Type.Null()]),
  webhookUrl: text,
})

/** Reads a request; undefined if it is invalid. */
function readRequest(body: string): Parameters<Sessions['start']>[0] | undefined {
  const asked = parseUntrustedJson(body, Request, bodyBytesMax)
  return asked && URL.canParse(asked.webhookUrl) ? asked : undefined
}

/** Creates the pages of sessions. */
function createSite(deps: SimulatorDeps, sessions: Sessions): Route {
  return async (path, request, response) => {
    if (path === '/style.css')
      return void response.writeHead(200, { 'content-type': 'text/css; charset=utf-8' }).end(pageStyle)
    const id = /^\/sessions\/([\w-]+)$/.exec(path)?.[1] ?? ''
    if (request.method === 'POST') {
      const chosen = new URLSearchParams(await readBody(request)).get('outcome')
      const outcome = outcomes.find((each) => each === chosen)
      const decided = outcome && sessions.decide(id, outcome)
      if (decided !== undefined) void postWebhook(deps, decided)
      // Redirects, so that a reload does not send the form again.
      return void response.writeHead(303, { ...pageHeaders, location: `${root}${path}` }).end()
    }
    const session = sessions.find(id)
    const page = simulatorPage(session, request.headers['accept-language'], `${root}/style.css`)
    response.writeHead(session === undefined ? 404 : 200, pageHeaders).end(page)
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > bodyBytesMax) throw new Error('the body is too large')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Notifies the service of a changed session. Gives up after a few attempts, because the service also polls. */
async function postWebhook({ clock, key, log, faults = {} }: SimulatorDeps, session: Session): Promise<void> {
  if (faults.losesWebhooks) return
  const id = newId()
  const body = JSON.stringify({ type: 'verification.updated', reference: session.reference, version: session.version })
  const post = async () => {
    const seconds = Math.floor(clock.now().getTime() / secondMs)
    const response = await fetch(session.webhookUrl, {
      method: 'POST',
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(webhookTimeoutMs),
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': deliverySignature({ kind: 'v1', key }, id, seconds, body),
      },
    })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`the service answered ${response.status}`)
  }
  for (const delayMs of webhookDelaysMs) {
    await pause(delayMs, undefined, { ref: false })
    try {
      await Promise.all(faults.repeatsWebhooks ? [post(), post()] : [post()])
      return
    } catch (error) {
      log.warn({ err: error }, 'the simulated identity provider could not post a webhook')
    }
  }
}

// The page of the simulated provider, on which a developer chooses the outcome.

const english = {
  title: 'Simulated identity check',
  intro: 'This page simulates that of an identity provider. No document is needed: choose the result.',
  asked: 'To be verified',
  compared: 'Values to compare',
  none: 'These fields of the customer are still empty.',
  done: 'The provider has decided. You can close this page.',
  processing: 'The provider is still deciding. Choose the result.',
  back: 'Back to the application',
  unknown: 'This identity check does not exist.',
  choices: {
    approve: 'Approve: everything matches',
    expiring: 'Approve, with a document that expires today',
    processing: 'Let the provider decide later',
    mismatch: 'Decline: the name differs',
    forged: 'Decline: the document is forged',
    unreadable: 'Decline: the document cannot be read',
    leave: 'Leave without finishing',
  } satisfies Record<SimulatedOutcome, string>,
  states: {
    Open: 'Open',
    Processing: 'Processing',
    Approved: 'Approved',
    Declined: 'Declined',
    Lapsed: 'Not finished',
  } satisfies Record<Session['status'], string>,
}
type Texts = typeof english

const german: Texts = {
  title: 'Simulierte Identitätsprüfung',
  intro:
    'Diese Seite simuliert die eines Anbieters von Identitätsprüfungen. Ein Ausweis ist nicht nötig: Wählen Sie das Ergebnis.',
  asked: 'Zu prüfen',
  compared: 'Zu vergleichende Werte',
  none: 'Diese Felder des Kunden sind noch leer.',
  done: 'Der Anbieter hat entschieden. Sie können diese Seite schließen.',
  processing: 'Der Anbieter entscheidet noch. Wählen Sie das Ergebnis.',
  back: 'Zurück zur Anwendung',
  unknown: 'Diese Identitätsprüfung gibt es nicht.',
  choices: {
    approve: 'Annehmen: alles stimmt überein',
    expiring: 'Annehmen, mit einem Ausweis, der heute abläuft',
    processing: 'Den Anbieter später entscheiden lassen',
    mismatch: 'Ablehnen: der Name weicht ab',
    forged: 'Ablehnen: der Ausweis ist gefälscht',
    unreadable: 'Ablehnen: der Ausweis ist nicht lesbar',
    leave: 'Abbrechen',
  },
  states: {
    Open: 'Offen',
    Processing: 'In Bearbeitung',
    Approved: 'Angenommen',
    Declined: 'Abgelehnt',
    Lapsed: 'Nicht beendet',
  },
}

const pageStyle = `:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 38rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.1rem }
dt { font-weight: 600 }
dd { margin: 0 0 .5rem; overflow-wrap: anywhere }
button { display: block; width: 100%; margin: .5rem 0; padding: .75rem; font: inherit; text-align: left }
.note { border-left: .25rem solid; padding-left: .75rem }
`

const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const textsFor = (acceptLanguage: string | undefined) =>
  /^\s*de\b/i.test(acceptLanguage ?? '') ? { language: 'de', t: german } : { language: 'en', t: english }

/** Renders the page of a session; undefined if it does not exist. `style`: the address of the style sheet. */
function simulatorPage(session: Session | undefined, acceptLanguage: string | undefined, style: string): string {
  const { language, t } = textsFor(acceptLanguage)
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(t.title)}</title>
<link rel="stylesheet" href="${escape(style)}"></head><body><main><h1>${escape(t.title)}</h1>
${session === undefined ? `<p>${escape(t.unknown)}</p>` : content(session, t)}</main></body></html>`
}

function content({ kinds, subject, status, returnUrl }: Session, t: Texts): string {
  const fields = Object.entries(subject)
  const compared =
    fields.length === 0
      ? `<p>${escape(t.none)}</p>`
      : `<dl>${fields.map(([field, value]) => `<dt>${escape(field)}</dt><dd>${escape(value)}</dd>`).join('')}</dl>`
  return `<p class="note">${escape(t.intro)}</p>
<p role="status"><strong>${escape(t.states[status])}</strong></p>
<h2>${escape(t.asked)}</h2><p>${kinds.map(escape).join(', ')}</p>
<h2>${escape(t.compared)}</h2>${compared}${choices(status, t)}
${returnUrl === null ? '' : `<p><a rel="noreferrer" href="${escape(returnUrl)}">${escape(t.back)}</a></p>`}`
}

function choices(status: Session['status'], t: Texts): string {
  if (status !== 'Open' && status !== 'Processing') return `<p>${escape(t.done)}</p>`
  const offered = outcomes.filter((outcome) => outcome !== 'processing' || status === 'Open')
  const buttons = offered.map(
    (outcome) => `<button name="outcome" value="${outcome}">${escape(t.choices[outcome])}</button>`,
  )
  return `${status === 'Processing' ? `<p>${escape(t.processing)}</p>` : ''}<form method="post">${buttons.join('')}</form>`
}

/** The choices of the page. */
const outcomes = ['approve', 'expiring', 'processing', 'mismatch', 'forged', 'unreadable', 'leave'] as const
type SimulatedOutcome = (typeof outcomes)[number]

type Session = {
  /** The id of the session, and the credential of its page. */
  readonly session: string
  readonly reference: string
  readonly kinds: readonly string[]
  readonly subject: Readonly<Record<string, string>>
  readonly returnUrl: string | null
  readonly webhookUrl: string
  readonly expiresAt: string
  readonly version: number
  readonly status: 'Open' | 'Processing' | 'Approved' | 'Declined' | 'Lapsed'
  readonly reason?: string
  readonly evidence?: object
}

const sessionMs = 7 * dayMs
/**
 * A session, with the data of the person, is stored for this time after its expiry, and then removed at the next start.
 */
const retentionMs = 90 * dayMs
const documentYears = 5
/** The oldest sessions above this number are removed. */
const sessionsMax = 10_000

const documentTypes: Readonly<Record<string, string>> = {
  Document: 'Passport',
  Address: 'ProofOfAddress',
  Company: 'RegisterExtract',
}

/** Stores sessions in a file, or only in memory if `file` is undefined. */
export function createSessions({ clock, file }: { readonly clock: Clock; readonly file: string | undefined }) {
  const byId = new Map<string, Session>()
  const byReference = new Map<string, string>()
  const remember = (session: Session) => {
    byId.set(session.session, session)
    byReference.set(session.reference, session.session)
    const [oldest] = byId.values()
    if (byId.size > sessionsMax && oldest !== undefined) {
      byId.delete(oldest.session)
      byReference.delete(oldest.reference)
    }
  }
  for (const session of readLines(file))
    if (after(new Date(session.expiresAt), retentionMs) > clock.now()) remember(session)
  if (file !== undefined && existsSync(file)) replaceLines(file, [...byId.values()])
  const put = (session: Session): Session => {
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(session)}\n`, { mode: 0o600 })
    remember(session)
    return session
  }
  return {
    find: (id: string): Session | undefined => byId.get(id),
    /** Starts a session. A repeated reference returns its session. */
    start: (request: Pick<Session, 'reference' | 'kinds' | 'subject' | 'returnUrl' | 'webhookUrl'>): Session => {
      const known = byId.get(byReference.get(request.reference) ?? '')
      if (known !== undefined) return known
      const expiresAt = after(clock.now(), sessionMs).toISOString()
      return put({ ...request, session: randomToken(), expiresAt, version: 1, status: 'Open' })
    },
    /** Erases the session of a reference, including from the file. */
    erase: (reference: string): void => {
      byId.delete(byReference.get(reference) ?? '')
      byReference.delete(reference)
      if (file !== undefined) replaceLines(file, [...byId.values()])
    },
    /** Decides a session; undefined if it cannot be decided any more. */
    decide: (id: string, outcome: SimulatedOutcome): Session | undefined => {
      const session = byId.get(id)
      if (session === undefined || (session.status !== 'Open' && session.status !== 'Processing')) return undefined
      return put({ ...session, version: session.version + 1, ...decideSession(session, outcome, clock.now()) })
    },
  }
}

/** Replaces the file atomically. */
function replaceLines(file: string, sessions: readonly Session[]): void {
  const next = `${file}.next`
  writeFileSync(next, sessions.map((session) => `${JSON.stringify(session)}\n`).join(''), { mode: 0o600 })
  renameSync(next, file)
}

/** Reads the sessions. Skips a line that a dying process wrote only in part. */
function readLines(file: string | undefined): readonly Session[] {
  if (file === undefined || !existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [ownJson<Session>(line)]
      } catch {
        return []
      }
    })
}

function decideSession(session: Session, outcome: SimulatedOutcome, now: Date): Partial<Session> {
  if (outcome === 'processing') return { status: 'Processing' }
  if (outcome === 'leave') return { status: 'Lapsed' }
  const evidence = makeEvidence(session, outcome, now)
  if (outcome === 'approve' || outcome === 'expiring') return { status: 'Approved', evidence }
  const reason = { mismatch: 'DataMismatch', forged: 'DocumentForged', unreadable: 'DocumentUnreadable' }[outcome]
  return { status: 'Declined', reason, evidence }
}

function makeEvidence({ session, kinds, subject }: Session, outcome: SimulatedOutcome, now: Date) {
  const today = now.toISOString().slice(0, 10)
  const lastDay = `${Number(today.slice(0, 4)) + documentYears}${today.slice(4)}`.replace('-02-29', '-02-28')
  const fields = outcome === 'unreadable' ? [] : Object.keys(subject)
  const wrong = outcome === 'mismatch' ? (fields.find((field) => field.endsWith('Name')) ?? fields[0]) : undefined
  return {
    providerReference: `SIM-${session.slice(0, 12)}`,
    documents: kinds.map((kind) => ({
      type: documentTypes[kind],
      ...(subject['citizenshipCountryCode'] === undefined || kind !== 'Document'
        ? {}
        : { issuingCountry: subject['citizenshipCountryCode'] }),
      ...(kind === 'Document' ? { expiresOn: outcome === 'expiring' ? today : lastDay } : {}),
    })),
    fields: fields.map((field) => ({ field, outcome: field === wrong ? 'Mismatched' : 'Matched' })),
  }
}
