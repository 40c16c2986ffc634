/** Passkeys: the options for the browser, and the verification of its answers (Web Authentication Level 3, sections 7.1 and 7.2). */
import { createPublicKey } from 'node:crypto'
import { parseUntrustedJson, type Static, Type } from '@partner-payments/wire'
import { type Refusal, refuseInvalid } from '../../kernel/api/index.ts'
import { newId, present } from '../../kernel/index.ts'
import type { Person } from './passwords.ts'
import type { PasskeyRow } from './store.ts'

/** The site that a passkey belongs to. */
export type RelyingParty = {
  /** The name that the browser shows. */
  readonly name: string
  /** The origin of the pages. */
  readonly origin: string
}

/** Loads the library with the first page that needs it, because workers and operator commands do not use passkeys. */
const library = () => import('@simplewebauthn/server')

/** COSE algorithms in the order of preference: EdDSA, ES256, RS256 (RFC 9053). */
const supportedAlgorithmIDs = [-8, -7, -257]

/** Returns the domain that passkeys are bound to. */
const relyingPartyId = ({ origin }: RelyingParty): string => new URL(origin).hostname

/** Returns the JSON of PublicKeyCredentialCreationOptions. */
export async function creationOptions(
  site: RelyingParty,
  {
    memberId,
    email,
    fullName,
    challenge,
  }: Person & { readonly memberId: string; readonly challenge: Uint8Array<ArrayBuffer> },
): Promise<string> {
  return JSON.stringify(
    await (
      await library()
    ).generateRegistrationOptions({
      rpName: site.name,
      rpID: relyingPartyId(site),
      userID: Uint8Array.from(Buffer.from(memberId)),
      userName: email,
      userDisplayName: fullName,
      challenge,
      supportedAlgorithmIDs,
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    }),
  )
}

/** Returns the JSON of PublicKeyCredentialRequestOptions for any passkey of the site. */
export async function passkeyRequestOptions(site: RelyingParty, challenge: Uint8Array<ArrayBuffer>): Promise<string> {
  return JSON.stringify(
    await (
      await library()
    ).generateAuthenticationOptions({ rpID: relyingPartyId(site), challenge, userVerification: 'required' }),
  )
}

/** Returns the JSON of PublicKeyCredentialRequestOptions for the passkeys of one person. */
export async function confirmationOptions(
  site: RelyingParty,
  passkeys: readonly Pick<PasskeyRow, 'credentialId' | 'transports'>[],
  challenge: Buffer,
): Promise<string> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: relyingPartyId(site),
    challenge: Uint8Array.from(challenge),
    userVerification: 'required',
    allowCredentials: passkeys.map(({ credentialId, transports }) => ({
      id: credentialId.toString('base64url'),
      transports: transports.filter(isTransport),
    })),
  })
  return JSON.stringify(options)
}

const transportNames = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const
const isTransport = (text: unknown): text is (typeof transportNames)[number] =>
  transportNames.some((name) => name === text)

/** Maximum length of the JSON that a browser sends for a passkey. */
const credentialCharsMax = 16_384
const base64url = (charsMax: number) => Type.String({ minLength: 1, maxLength: charsMax, pattern: '^[A-Za-z0-9_-]+$' })
/** 1,023 bytes (Web Authentication Level 3, section 4, credential id). */
const CredentialId = base64url(1364)
/** The client data has a few short fields and some that browsers add. */
const clientDataCharsMax = 4096
const ClientDataJson = base64url(clientDataCharsMax)
const credential = <R extends ReturnType<typeof Type.Object>>(response: R) =>
  Type.Object({ id: CredentialId, rawId: CredentialId, type: Type.Enum(['public-key']), response })

const NewCredential = credential(
  Type.Object({
    clientDataJSON: ClientDataJson,
    attestationObject: base64url(credentialCharsMax),
    /** Browsers may name transports of later specifications, which are not stored. */
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 32 }), { maxItems: 16 })),
  }),
)
const Assertion = credential(
  Type.Object({
    clientDataJSON: ClientDataJson,
    authenticatorData: base64url(4096),
    signature: base64url(2048),
    /** Base64 of at most 64 bytes (section 5.4.3). Some browsers send an empty text instead of null. */
    userHandle: Type.Optional(Type.Union([Type.String({ maxLength: 88, pattern: '^[A-Za-z0-9_-]*$' }), Type.Null()])),
  }),
)
const ClientData = Type.Object({ challenge: base64url(256) })

export const refusedPasskey = (message: string): Refusal => refuseInvalid('/credential', message)

/** Verifies a new passkey from a browser. Refuses (400, `/credential`). */
export async function verifyNewPasskey(
  site: RelyingParty,
  text: string,
  { memberId, challenge }: { readonly memberId: string; readonly challenge: Uint8Array },
): Promise<PasskeyRow> {
  const refused = refusedPasskey('is not a passkey for this page')
  const given = parseUntrustedJson(text, NewCredential, credentialCharsMax)
  if (given === undefined) throw refused
  const { verifyRegistrationResponse } = await library()
  const { transports = [], ...response } = given.response
  const verified = await verifyRegistrationResponse({
    response: { ...given, response, clientExtensionResults: {} },
    expectedChallenge: Buffer.from(challenge).toString('base64url'),
    expectedOrigin: site.origin,
    expectedRPID: relyingPartyId(site),
    supportedAlgorithmIDs,
    requireUserVerification: true,
  }).catch(() => undefined)
  if (verified?.verified !== true) throw refused
  const { credential, credentialBackedUp } = verified.registrationInfo
  // The library does not check that the ids match, nor that the key has a usable form. The stored id is the one inside the attestation.
  if (credential.id !== given.id || !(await isUsableKey(credential.publicKey))) throw refused
  return {
    id: newId(),
    memberId,
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    counter: BigInt(credential.counter),
    transports: transports.filter(isTransport),
    backedUp: credentialBackedUp,
  }
}

/** The parsed answer of a passkey, not verified yet. */
export type PasskeyAnswer = {
  readonly credentialId: Buffer
  readonly challenge: Buffer
  readonly memberId: string | undefined
  readonly given: Static<typeof Assertion>
}

/** Parses the answer of a passkey. Undefined: the text has another form. */
export function parsePasskeyAnswer(text: string): PasskeyAnswer | undefined {
  const given = parseUntrustedJson(text, Assertion, credentialCharsMax)
  if (given === undefined) return undefined
  const { clientDataJSON, userHandle } = given.response
  const client = parseUntrustedJson(fromBase64url(clientDataJSON).toString('utf8'), ClientData, clientDataCharsMax)
  if (client === undefined) return undefined
  return {
    credentialId: fromBase64url(given.id),
    challenge: fromBase64url(client.challenge),
    memberId: userHandle ? fromBase64url(userHandle).toString('utf8') : undefined,
    given,
  }
}

type VerifiedAnswer = {
  readonly counter: bigint
  readonly backedUp: boolean
  /** Base64 of the signed data and of the signature. */
  readonly signed: { readonly authenticatorData: string; readonly clientData: string; readonly signature: string }
}

/** Verifies an answer and returns the values to record. Undefined: signature, site or challenge is wrong, or the user was not verified. */
export async function verifyPasskeyAnswer(
  site: RelyingParty,
  { given, challenge }: PasskeyAnswer,
  passkey: PasskeyRow,
): Promise<VerifiedAnswer | undefined> {
  const { verifyAuthenticationResponse } = await library()
  const { userHandle: _userHandle, ...response } = given.response
  const verified = await verifyAuthenticationResponse({
    response: { ...given, response, clientExtensionResults: {} },
    expectedChallenge: challenge.toString('base64url'),
    expectedOrigin: site.origin,
    expectedRPID: relyingPartyId(site),
    requireUserVerification: true,
    credential: {
      id: passkey.credentialId.toString('base64url'),
      publicKey: Uint8Array.from(passkey.publicKey),
      counter: Number(passkey.counter),
    },
  }).catch(() => undefined)
  if (verified?.verified !== true) return undefined
  const { newCounter, credentialBackedUp } = verified.authenticationInfo
  const { authenticatorData, clientDataJSON, signature } = response
  const signed = {
    authenticatorData: toBase64(authenticatorData),
    clientData: toBase64(clientDataJSON),
    signature: toBase64(signature),
  }
  return { counter: BigInt(newCounter), backedUp: credentialBackedUp, signed }
}

const fromBase64url = (text: string): Buffer => Buffer.from(text, 'base64url')
const toBase64 = (text: string): string => fromBase64url(text).toString('base64')

/** COSE labels of keys (RFC 9053, section 7): type, curve or modulus, and the other two parameters. */
const label = { type: 1, curveOrModulus: -1, xOrExponent: -2, y: -3 } as const
const curves: Readonly<Record<number, string>> = { 1: 'P-256', 6: 'Ed25519' }
const rsaBits = { min: 2048, max: 4096 }

/** Reports whether the key's signatures can be verified and exported with an approval. Those of a malformed key could not. */
async function isUsableKey(publicKey: Uint8Array): Promise<boolean> {
  const spki = await toSpki(publicKey).catch(() => undefined)
  if (spki === undefined) return false
  const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
  const { modulusLength = rsaBits.min } = key.asymmetricKeyDetails ?? {}
  return modulusLength >= rsaBits.min && modulusLength <= rsaBits.max
}

/** Converts a stored key to SPKI (RFC 5280) in base64, so that anyone can verify its signatures with a common library. */
export async function toSpki(publicKey: Uint8Array): Promise<string> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers')
  const key: ReadonlyMap<number, unknown> = decodeCredentialPublicKey(Uint8Array.from(publicKey)) as never
  const text = (name: keyof typeof label) => Buffer.from(key.get(label[name]) as Uint8Array).toString('base64url')
  const crv = curves[Number(key.get(label.curveOrModulus))] ?? ''
  const jwks: Readonly<Record<number, () => Readonly<Record<string, string>>>> = {
    1: () => ({ kty: 'OKP', crv, x: text('xOrExponent') }),
    2: () => ({ kty: 'EC', crv, x: text('xOrExponent'), y: text('y') }),
    3: () => ({ kty: 'RSA', n: text('curveOrModulus'), e: text('xOrExponent') }),
  }
  const jwk = present(
    jwks[Number(key.get(label.type))],
    `no JSON Web Key for the COSE key type ${String(key.get(label.type))}`,
  )()
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'der', type: 'spki' }).toString('base64')
}
