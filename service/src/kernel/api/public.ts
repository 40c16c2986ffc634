/**
 * Routes of the audience `public`: pages that a browser opens without a signature. Their credential is a token in the path, or a cookie.
 * The gateway mounts them and does not depend on their content.
 */
import type { ProblemCode } from '@partner-payments/wire'
import { AsyncLocalStorage } from 'node:async_hooks'

export type PublicRequest = {
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: string
  /** The headers of `publicHeaders` only. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
  /** The client's IP address. */
  readonly ip: string
  readonly requestId: string
}

/**
 * The headers that a page may read, including those of signed webhooks (Standard Webhooks). A gateway process forwards
 * only these headers.
 */
export const publicHeaders = [
  'accept-encoding',
  'accept-language',
  'cookie',
  'host',
  'if-none-match',
  'referer',
  'user-agent',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-live',
] as const

/** The cookies of the team's pages: the token of the session, and the partner of the last session. */
export const sessionCookie = '__Host-session'
export const partnerCookie = '__Host-partner'
/** The cookie that identifies a browser at the sign-in of a team. It does not grant access. */
export const deviceCookie = '__Host-device'
/** The session cookie of the desk. Its name differs, because browsers share cookies between ports. */
export const staffCookie = '__Host-staff'

/** Reads a cookie of a request (RFC 6265, section 4.2). */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

export type Encoding = 'br' | 'gzip' | 'identity'

/** Chooses the best encoding that a client accepts: one that it lists without `q=0` (RFC 9110, section 12.5.3). */
export function encodingFor(acceptEncoding: string | undefined): Encoding {
  const takes = (encoding: Encoding) => {
    const item = acceptEncoding?.split(',').find((part) => part.split(';', 1)[0]?.trim().toLowerCase() === encoding)
    return item !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(item)
  }
  return takes('br') ? 'br' : takes('gzip') ? 'gzip' : 'identity'
}

/** The answer of a page. A stream body is a file. */
export type PublicAnswer<Body = string | Buffer | AsyncIterable<Uint8Array>> = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[]
  readonly body: Body
}

export type PublicRoute = AdmissionOptions & {
  readonly method: 'GET' | 'POST'
  /** Parameters are written `{name}`. */
  readonly path: string
  /** Maximum size of the body, for a form with a file. Default: enough for a form with a few fields. */
  readonly bodyBytesMax?: number
  readonly handle: (request: PublicRequest) => PublicAnswer | Promise<PublicAnswer>
}

export type PublicSite = {
  readonly routes: readonly PublicRoute[]
  /** Renders the page for a refused or failed request. */
  readonly refused: (
    request: PublicRequest,
    problem: { readonly status: number; readonly code: ProblemCode },
  ) => PublicAnswer
}

// The admission limit of a request: shared by all callers, or separate for requests that call chosen hosts.

/**
 * The admission limit of a route or an operation. `callsChosenHost`: it waits for a host that a partner or a stranger
 * has chosen.
 */
export type AdmissionOptions = { readonly callsChosenHost?: true }

const shared = new AsyncLocalStorage<boolean>()

export const runAdmitted = <T>(asked: AdmissionOptions, work: () => T): T =>
  shared.run(asked.callsChosenHost !== true, work)

/** Reports whether the current request counts against the limit that all callers share. */
export const isInSharedAdmission = (): boolean => shared.getStore() === true
