/** Signs snapshots as a passkey does. */
import { createHash, type KeyObject, sign } from 'node:crypto'
import { challengeOf, type SignedApproval } from '@partner-payments/wire'

const origin = 'https://pay.example.com'
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()
export type Pair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

type Change = { readonly type?: string; readonly origin?: string; readonly flags?: number; readonly domain?: string }

/** The data that an authenticator signs: Web Authentication Level 3, sections 6.1 and 6.3.3. */
export function signedByPasskey(
  snapshot: string,
  { privateKey, publicKey }: Pair,
  change: Change = {},
): SignedApproval {
  const clientData = JSON.stringify({
    type: change.type ?? 'webauthn.get',
    challenge: challengeOf(snapshot).toString('base64url'),
    origin: change.origin ?? origin,
    crossOrigin: false,
  })
  const data = Buffer.concat([
    sha256(change.domain ?? 'pay.example.com'),
    Buffer.of(change.flags ?? 0x05),
    Buffer.alloc(4),
  ])
  const algorithm = privateKey.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  const signature = sign(algorithm, Buffer.concat([data, sha256(clientData)]), privateKey)
  return {
    snapshot,
    factor: 'passkey',
    passkey: {
      origin,
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      authenticatorData: data.toString('base64'),
      clientData: Buffer.from(clientData).toString('base64'),
      signature: signature.toString('base64'),
    },
  }
}
