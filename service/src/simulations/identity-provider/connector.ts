/** The connector of the simulated identity provider, which it calls over HTTP. */
import { identity, parseUntrustedJson, type TSchema, type Static, Type } from '@partner-payments/wire'
import {
  hasStandardSignature,
  type IdentityEvidence,
  type IdentityHint,
  type IdentityProvider,
  IdentityRequestRefused,
  type IdentityReport,
} from '../../parties/identity-port/index.ts'

export const simulatedIdentityId = 'simulated'

type SimulatedIdentityDeps = {
  /** The key that authorises calls and signs webhooks. */
  readonly key: Uint8Array
  /** Returns the address of the provider; undefined if it is not known yet. */
  readonly baseUrl: () => string | undefined
  /** Returns the address to which the provider posts webhooks. */
  readonly webhookUrl: () => string
  readonly timeoutMs?: number
}

const timeoutMsDefault = 5_000
/** A report has a few documents. */
const answerBytesMax = 262_144

export function createSimulatedIdentityProvider(deps: SimulatedIdentityDeps): IdentityProvider {
  const { key, webhookUrl, timeoutMs = timeoutMsDefault } = deps
  return {
    id: simulatedIdentityId,
    timeoutMs,
    start: async (request, signal) => {
      const body = JSON.stringify({ ...request, webhookUrl: webhookUrl() })
      const { status, text } = await call(deps, '/v1/sessions', { method: 'POST', body, signal })
      if (status === 400 || status === 422) throw new IdentityRequestRefused(`the provider answered ${status}`)
      if (status !== 200) throw new Error(`the identity provider answered ${status}`)
      const { session, url, expiresAt } = readAnswer(text, StartedSession)
      return { providerSession: session, url: checkUrl(url), expiresAt: readTime(expiresAt) }
    },
    report: async (providerSession, signal) => {
      const path = `/v1/sessions/${encodeURIComponent(providerSession)}`
      const { status, text } = await call(deps, path, { method: 'GET', signal })
      if (status === 404) return undefined
      if (status !== 200) throw new Error(`the identity provider answered ${status}`)
      return readReport(readAnswer(text, Report))
    },
    erase: async ({ reference }, signal) => {
      const path = `/v1/references/${encodeURIComponent(reference)}`
      const { status } = await call(deps, path, { method: 'DELETE', signal })
      if (status === 409) throw new IdentityRequestRefused('the provider must keep the verification')
      if (status !== 200) throw new Error(`the identity provider answered ${status}`)
    },
    readWebhook: (webhook) => (hasStandardSignature(key, webhook) ? readHint(webhook.body) : undefined),
  }
}

async function call(
  { baseUrl, key }: SimulatedIdentityDeps,
  path: string,
  options: { readonly method: string; readonly body?: string; readonly signal: AbortSignal },
): Promise<{ readonly status: number; readonly text: string }> {
  const base = baseUrl()
  if (base === undefined) throw new Error('the address of the simulated identity provider is not known yet')
  const authorization = `Bearer ${Buffer.from(key).toString('base64url')}`
  const response = await fetch(`${base}${path}`, {
    ...options,
    redirect: 'error',
    headers: { authorization, 'content-type': 'application/json' },
  })
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes > answerBytesMax) throw new Error('the answer of the identity provider is too long')
    parts.push(part)
  }
  return { status: response.status, text: Buffer.concat(parts).toString('utf8') }
}

const invalidAnswer = (form: string) => new Error(`the answer of the identity provider does not have a valid ${form}`)

function readAnswer<S extends TSchema>(text: string, schema: S): Static<S> {
  const answer = parseUntrustedJson(text, schema, answerBytesMax)
  if (answer === undefined) throw invalidAnswer('format')
  return answer
}

const text = Type.String({ minLength: 1, maxLength: 2048 })
const StartedSession = Type.Object({ session: text, url: text, expiresAt: text })
const version = Type.Integer({ minimum: 1 })
const nullable = (pattern: string) => Type.Optional(Type.Union([Type.String({ pattern }), Type.Null()]))
const evidence = Type.Object({
  providerReference: text,
  documents: Type.Array(
    Type.Object({
      type: Type.Enum(identity.identityDocuments),
      issuingCountry: nullable('^[A-Z]{2}$'),
      expiresOn: nullable('^\\d{4}-\\d{2}-\\d{2}$'),
    }),
    { maxItems: 100 },
  ),
  fields: Type.Array(Type.Object({ field: text, outcome: Type.Enum(['Matched', 'Mismatched']) }), { maxItems: 100 }),
})
const Report = Type.Union([
  Type.Object({ version, status: Type.Enum(['Open', 'Processing', 'Lapsed']) }),
  Type.Object({ version, status: Type.Enum(['Approved']), evidence }),
  Type.Object({ version, status: Type.Enum(['Declined']), reason: Type.Enum(identity.identityReasons), evidence }),
])
const Hint = Type.Object({ reference: text, version })

/** Checks a URL for a browser. Refuses `javascript:` and similar schemes. */
function checkUrl(given: string): string {
  if (!/^https?:$/.test(URL.parse(given)?.protocol ?? '')) throw invalidAnswer('http or https url')
  return given
}

function readTime(given: string): Date {
  const time = new Date(given)
  if (Number.isNaN(time.getTime())) throw invalidAnswer('time')
  return time
}

function readReport(report: Static<typeof Report>): IdentityReport {
  const read = { ...report, version: BigInt(report.version) }
  return 'evidence' in read ? { ...read, evidence: readEvidence(read.evidence) } : read
}

const readEvidence = ({ documents, ...found }: Static<typeof evidence>): IdentityEvidence => ({
  ...found,
  documents: documents.map(({ type, issuingCountry = null, expiresOn = null }) => {
    if (expiresOn !== null && Number.isNaN(Date.parse(`${expiresOn}T00:00:00Z`))) throw invalidAnswer('expiresOn')
    return { type, issuingCountry, expiresOn }
  }),
})

/** Reads the hint in a signed webhook; undefined if the body has another format. */
function readHint(body: Uint8Array): IdentityHint | undefined {
  const hint = parseUntrustedJson(Buffer.from(body).toString('utf8'), Hint, answerBytesMax)
  return hint && { reference: hint.reference, version: BigInt(hint.version) }
}
