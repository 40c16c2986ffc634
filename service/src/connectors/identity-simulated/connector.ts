/** The connector of the simulated identity provider: the port over its HTTP. */
import { identity } from '@partner-payments/wire'
import {
  holdsStandardSignature,
  type IdentityEvidence,
  type IdentityHint,
  type IdentityProvider,
  IdentityRefused,
  type IdentityReport,
} from '../../identity/index.ts'

export const simulatedIdentityId = 'simulated'

export type SimulatedIdentityDeps = {
  /** Authorizes calls, and signs webhooks. */
  readonly key: Uint8Array
  /** The address of the provider. Undefined: it is not known yet. */
  readonly baseUrl: () => string | undefined
  /** The address to which the provider posts webhooks. */
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
      const { status, json } = await call(deps, '/v1/sessions', { method: 'POST', body, signal })
      if (status === 400 || status === 422) throw new IdentityRefused(`the provider answered ${status}`)
      if (status !== 200) throw new Error(`the identity provider answered ${status}`)
      return {
        providerSession: textOf(json, 'session'),
        url: urlOf(textOf(json, 'url')),
        expiresAt: timeOf(textOf(json, 'expiresAt')),
      }
    },
    report: async (providerSession, signal) => {
      const path = `/v1/sessions/${encodeURIComponent(providerSession)}`
      const { status, json } = await call(deps, path, { method: 'GET', signal })
      if (status === 404) return undefined
      if (status !== 200) throw new Error(`the identity provider answered ${status}`)
      return readReport(json)
    },
    erase: async ({ reference }, signal) => {
      const path = `/v1/references/${encodeURIComponent(reference)}`
      const { status } = await call(deps, path, { method: 'DELETE', signal })
      if (status === 409) throw new IdentityRefused('the provider has to keep the verification')
      if (status !== 200) throw new Error(`the identity provider answered ${status}`)
    },
    readWebhook: (webhook) => (holdsStandardSignature(key, webhook) ? readHint(webhook.body) : undefined),
  }
}

async function call(
  { baseUrl, key }: SimulatedIdentityDeps,
  path: string,
  options: { readonly method: string; readonly body?: string; readonly signal: AbortSignal },
): Promise<{ readonly status: number; readonly json: unknown }> {
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
  return { status: response.status, json: response.ok ? parse(Buffer.concat(parts).toString('utf8')) : undefined }
}

const parse = (text: string): unknown => JSON.parse(text)

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('an object')
  return value as Fields
}
const invalid = (what: string) => new Error(`the answer of the identity provider is invalid: it lacks ${what}`)

function textOf(value: unknown, name: string): string {
  const found = fieldsOf(value)[name]
  if (typeof found !== 'string' || found === '') throw invalid(name)
  return found
}

function oneFrom<const T extends string>(values: readonly T[], value: unknown, name: string): T {
  const found = values.find((each) => each === value)
  if (found === undefined) throw invalid(`a valid ${name}`)
  return found
}

/** A browser opens it, so that `javascript:` and similar schemes are refused. */
function urlOf(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? '')) throw invalid('an http or https url')
  return text
}

function timeOf(text: string): Date {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) throw invalid('a time')
  return time
}

function versionOf(value: unknown): bigint {
  const { version } = fieldsOf(value)
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) throw invalid('version')
  return BigInt(version)
}

function readReport(json: unknown): IdentityReport {
  const version = versionOf(json)
  const { status, reason, evidence } = fieldsOf(json)
  if (status === 'Approved') return { version, status, evidence: readEvidence(evidence) }
  if (status === 'Declined')
    return {
      version,
      status,
      reason: oneFrom(identity.identityReasons, reason, 'reason'),
      evidence: readEvidence(evidence),
    }
  return { version, status: oneFrom(['Open', 'Processing', 'Lapsed'], status, 'status') }
}

const listOf = (value: unknown, name: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw invalid(name)
  return value
}

function readEvidence(value: unknown): IdentityEvidence {
  const { documents, fields } = fieldsOf(value)
  return {
    providerReference: textOf(value, 'providerReference'),
    documents: listOf(documents, 'documents').map((each) => {
      const { type, issuingCountry = null, expiresOn = null } = fieldsOf(each)
      if (issuingCountry !== null && !(typeof issuingCountry === 'string' && /^[A-Z]{2}$/.test(issuingCountry)))
        throw invalid('a valid issuingCountry')
      if (expiresOn !== null && !(typeof expiresOn === 'string' && isDay(expiresOn))) throw invalid('a valid expiresOn')
      return { type: oneFrom(identity.identityDocuments, type, 'type'), issuingCountry, expiresOn }
    }),
    fields: listOf(fields, 'fields').map((each) => ({
      field: textOf(each, 'field'),
      outcome: oneFrom(['Matched', 'Mismatched'], fieldsOf(each)['outcome'], 'outcome'),
    })),
  }
}

const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))

/** Undefined: the body is signed and has another form. */
function readHint(body: Uint8Array): IdentityHint | undefined {
  try {
    const json = parse(Buffer.from(body).toString('utf8'))
    return { reference: textOf(json, 'reference'), version: versionOf(json) }
  } catch {
    return undefined
  }
}
