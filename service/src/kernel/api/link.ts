/**
 * The tokens of links in mails. A token cannot be guessed and contains its partner's id, so that no search across
 * partners is needed.
 */
import { randomBytes } from '../index.ts'

const partnerBytes = 16
const secretBytes = 32

export const newLinkToken = (partnerId: string): string => createLinkToken(partnerId, randomBytes(secretBytes))

/** Creates the link token of a partner from a secret of 32 bytes. */
export const createLinkToken = (partnerId: string, secret: Uint8Array): string =>
  Buffer.concat([Buffer.from(partnerId.replaceAll('-', ''), 'hex'), secret]).toString('base64url')

/** Returns the partner's id of a link token. Undefined: the text is not a token. */
export function linkPartnerId(token: string): string | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== partnerBytes + secretBytes || bytes.toString('base64url') !== token) return undefined
  const hex = bytes.toString('hex', 0, partnerBytes)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
