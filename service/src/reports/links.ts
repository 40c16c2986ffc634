/** Hash of a token, as the database stores it. */
import { createHash } from 'node:crypto'

export const tokenHash = (token: string): Uint8Array => createHash('sha256').update(token).digest()
