/** The server of the simulated provider: its interface for the connector, its page for a browser, and its webhooks. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { timingSafeEqual } from 'node:crypto'
import { deliverySignature, identity, readForeign, Type } from '@partner-payments/wire'
import { type Clock, type Log, newId, secondMs } from '../../kernel/index.ts'
import { pageStyle, simulatorPage } from './page.ts'
import { createSessions, outcomes, type Session } from './sessions.ts'

/** Faults of the provider, for tests. Each holds while it is set. */
export type SimulatorFaults = {
  hangs?: boolean
  isDown?: boolean
  losesWebhooks?: boolean
  /** Sends each webhook twice, at the same time. */
  repeatsWebhooks?: boolean
  /** Refuses to erase. */
  keepsSessions?: boolean
}

export type IdentitySimulator = {
  /** Answers the paths below `/identity-simulator`. */
  readonly listener: RequestListener
  /** The address of the listener, with its path. Pages of sessions have it. */
  readonly opened: (baseUrl: string) => void
  readonly baseUrl: () => string | undefined
}

type Deps = {
  readonly clock: Clock
  readonly log: Log
  /** Authorizes calls, and signs webhooks. */
  readonly key: Uint8Array
  /** Keeps the sessions. Undefined: only the memory does. */
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

export function createIdentitySimulator(deps: Deps): IdentitySimulator {
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

/** The interface for the connector. */
function createApi({ key, faults = {} }: Deps, sessions: Sessions, base: () => string): Route {
  const expected = Buffer.from(`Bearer ${Buffer.from(key).toString('base64url')}`)
  const isAuthorized = ({ headers }: IncomingMessage) => {
    const given = Buffer.from(headers.authorization ?? '')
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return async (path, request, response) => {
    if (!isAuthorized(request)) return answer(response, 401, { error: 'unauthorized' })
    if (path === '/v1/sessions' && request.method === 'POST') {
      const asked = requestOf(await readBody(request))
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

/** Undefined: the request is not one that the provider understands. */
function requestOf(body: string): Parameters<Sessions['start']>[0] | undefined {
  const asked = readForeign(body, Request, bodyBytesMax)
  return asked && URL.canParse(asked.webhookUrl) ? asked : undefined
}

/** The page of a session. */
function createSite(deps: Deps, sessions: Sessions): Route {
  return async (path, request, response) => {
    if (path === '/style.css')
      return void response.writeHead(200, { 'content-type': 'text/css; charset=utf-8' }).end(pageStyle)
    const id = /^\/sessions\/([\w-]+)$/.exec(path)?.[1] ?? ''
    if (request.method === 'POST') {
      const chosen = new URLSearchParams(await readBody(request)).get('outcome')
      const outcome = outcomes.find((each) => each === chosen)
      const decided = outcome && sessions.decide(id, outcome)
      if (decided !== undefined) void postWebhook(deps, decided)
      // The browser asks for the page, so that a reload does not send the form again.
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

/** Tells the service that a session has changed. It gives up after a few attempts, as the service also asks by itself. */
async function postWebhook({ clock, key, log, faults = {} }: Deps, session: Session): Promise<void> {
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
