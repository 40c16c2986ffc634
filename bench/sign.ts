/** Signed requests as bytes. Signing is not measured, because it is the work of partners. */
import { type KeyObject, randomUUID, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { canonicalString } from '@partner-payments/wire'

/** The partner data of a request. All partners of the bench share one RSA key; each has its own service account. */
export type BenchPartner = {
  readonly partnerId: string
  readonly apiKey: string
  readonly apiSecret: string
  readonly customerId: string
  readonly beneficiaryId: string
}
export type UnsignedRequest = { readonly method: 'GET' | 'POST'; readonly path: string; readonly body?: string }

/** The asynchronous form signs in Node's thread pool, on all cores. */
const signInPool = promisify<string, Buffer, KeyObject, Buffer>(sign)

export async function signedHeaders(
  partner: Pick<BenchPartner, 'apiKey' | 'apiSecret'>,
  key: KeyObject,
  { method, path, body = '' }: UnsignedRequest,
): Promise<Readonly<Record<string, string>>> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = randomUUID()
  const { apiKey, apiSecret } = partner
  const text = canonicalString({ method, path, query: '', timestamp, nonce, apiSecret, body: Buffer.from(body) })
  const signature = (await signInPool('sha256', Buffer.from(text), key)).toString('base64')
  return { ApiKey: apiKey, Nonce: nonce, Timestamp: timestamp, Signature: signature }
}

/** One HTTP/1.1 keep-alive request. */
export async function signedBytes(partner: BenchPartner, key: KeyObject, request: UnsignedRequest): Promise<Buffer> {
  const { method, path, body } = request
  const headers = {
    Host: 'localhost',
    ...(await signedHeaders(partner, key, request)),
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`)
}
