/** Pure: the form of the API key. It contains the partner's id, so that a key leads to its shard without a global index. */
import { randomBytes } from '../kernel/index.ts'

const prefix = 'pk_'
const partnerBytes = 16
const randomPartBytes = 15
const form = new RegExp(`^${prefix}[A-Za-z0-9_-]{42}$`)

export function newApiKey(partnerId: string): string {
  const partner = Buffer.from(partnerId.replaceAll('-', ''), 'hex')
  return prefix + Buffer.concat([partner, randomBytes(randomPartBytes)]).toString('base64url')
}

/** The partner id in the key; undefined if the text is not an API key of this service. */
export function apiKeyPartner(apiKey: string): string | undefined {
  if (!form.test(apiKey)) return undefined
  const hex = Buffer.from(apiKey.slice(prefix.length), 'base64url').subarray(0, partnerBytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
