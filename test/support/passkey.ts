/** Signs snapshots as a passkey does, and makes the credentials that a browser sends in forms. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { approvalChallenge, type SignedApproval } from '@partner-payments/wire'

const origin = 'https://pay.example.com'
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()
export type KeyPair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

type Change = { readonly type?: string; readonly origin?: string; readonly flags?: number; readonly domain?: string }

/** The data that an authenticator signs: Web Authentication Level 3, sections 6.1 and 6.3.3. */
export function signedByPasskey(
  snapshot: string,
  { privateKey, publicKey }: KeyPair,
  change: Change = {},
): SignedApproval {
  const clientData = JSON.stringify({
    type: change.type ?? 'webauthn.get',
    challenge: approvalChallenge(snapshot).toString('base64url'),
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

/** The JSON of a browser for `navigator.credentials`. */
export type Credential = {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: Readonly<Record<string, string | null | readonly string[]>>
  readonly authenticatorAttachment: string
  readonly clientExtensionResults: object
}
type Options = { readonly challenge: string }

const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url')

/** The few forms of CBOR (RFC 8949) that an attestation without a statement has. */
function cbor(value: number | string | Buffer | ReadonlyMap<number | string, unknown>): Buffer {
  // The shortest form of a size: the library measures a key by writing it again.
  const head = (major: number, size: number) => {
    if (size < 24) return Buffer.of((major << 5) | size)
    return size < 256 ? Buffer.of((major << 5) | 24, size) : Buffer.of((major << 5) | 25, size >> 8, size & 0xff)
  }
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const parts = [...value].flatMap(([key, each]) => [cbor(key), cbor(each as Buffer)])
  return Buffer.concat([head(5, value.size), ...parts])
}

/** The COSE labels of a key (RFC 9053, section 7) that replace those of a good one. */
export type CoseChange = readonly (readonly [number, number | string | Buffer])[]
type AttestationParts = {
  readonly id?: Buffer
  /** The id that the form names. Default: that of the attestation. */
  readonly namedId?: Buffer
  readonly coseChange?: CoseChange
}

/** An authenticator with one passkey that a browser at `site` uses: the options of a page in, the credential of its form out. */
export function createAuthenticator(site: string, made: AttestationParts = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' }) as { readonly x?: string; readonly y?: string }
  const id = made.id ?? createHash('sha256').update(x).digest()
  const named = base64url(made.namedId ?? id)
  const domain = new URL(site).hostname
  const coordinate = (text: string) => Buffer.from(text, 'base64url')
  const coseKey = new Map<number, number | string | Buffer>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, coordinate(x)],
    [-3, coordinate(y)],
    ...(made.coseChange ?? []),
  ])
  const dataOf = (flags: number, ...more: readonly Buffer[]) =>
    Buffer.concat([sha256(domain), Buffer.of(flags), Buffer.alloc(4), ...more])
  const clientDataOf = (type: string, challenge: string) =>
    JSON.stringify({ type, challenge, origin: site, crossOrigin: false })
  const credential = (response: Credential['response']): Credential => ({
    ...{ id: named, rawId: named, type: 'public-key', response },
    ...{ authenticatorAttachment: 'platform', clientExtensionResults: {} },
  })
  return {
    create: (options: string): Credential => {
      const { challenge } = JSON.parse(options) as Options
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(id.length >> 8, id.length & 0xff), id, cbor(coseKey)])
      const object = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', dataOf(0x45, attested)],
      ])
      return credential({
        clientDataJSON: base64url(clientDataOf('webauthn.create', challenge)),
        attestationObject: base64url(cbor(object)),
        transports: ['internal', 'hybrid'],
      })
    },
    get: (options: string, userHandle: string | null = null): Credential => {
      const { challenge } = JSON.parse(options) as Options
      const clientData = clientDataOf('webauthn.get', challenge)
      const data = dataOf(0x05)
      const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), privateKey)
      return credential({
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(data),
        signature: base64url(signature),
        userHandle: userHandle === null ? null : base64url(userHandle),
      })
    },
  }
}
