/** Passkeys: the options for the browser, and the verification of its answers (Web Authentication Level 3, sections 7.1 and 7.2). */
import { createPublicKey } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { refuseField } from '../api/index.ts'
import { newId, present } from '../kernel/index.ts'
import type { Person } from './passwords.ts'
import type { PasskeyRow } from './store.ts'

/** The site that a passkey belongs to. */
export type Site = {
  /** Name that the browser shows. */
  readonly name: string
  /** Origin of the pages. */
  readonly origin: string
}

/** Loads the library with the first page that needs it: workers and commands of the operator have no passkeys. */
const library = () => import('@simplewebauthn/server')

/** COSE algorithms in the order of preference: EdDSA, ES256, RS256 (RFC 9053). */
const supportedAlgorithmIDs = [-8, -7, -257]

/** The domain that passkeys are bound to. */
const domainOf = ({ origin }: Site): string => new URL(origin).hostname

/** JSON of PublicKeyCredentialCreationOptions. */
export async function creationOptions(
  site: Site,
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
      rpID: domainOf(site),
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

/** JSON of PublicKeyCredentialRequestOptions: any passkey of the site. */
export async function requestOptions(site: Site, challenge: Uint8Array<ArrayBuffer>): Promise<string> {
  return JSON.stringify(
    await (
      await library()
    ).generateAuthenticationOptions({ rpID: domainOf(site), challenge, userVerification: 'required' }),
  )
}

/** JSON of PublicKeyCredentialRequestOptions for the passkeys of one person. */
export async function confirmationOptions(
  site: Site,
  passkeys: readonly Pick<PasskeyRow, 'credentialId' | 'transports'>[],
  challenge: Buffer,
): Promise<string> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: domainOf(site),
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
const isTransport = (text: string): text is (typeof transportNames)[number] =>
  transportNames.some((name) => name === text)

/** The passkey that a browser has made. Refuses (400, `/credential`). */
export async function verifyNewPasskey(
  site: Site,
  text: string,
  { memberId, challenge }: { readonly memberId: string; readonly challenge: Uint8Array },
): Promise<PasskeyRow> {
  const refused = refuseField({
    pointer: '/credential',
    code: 'invalid_value',
    message: 'is not a passkey for this page',
  })
  const response = readCredential(text)
  if (response === undefined) throw refused
  const { verifyRegistrationResponse } = await library()
  const verified = await verifyRegistrationResponse({
    response: response as RegistrationResponseJSON,
    expectedChallenge: Buffer.from(challenge).toString('base64url'),
    expectedOrigin: site.origin,
    expectedRPID: domainOf(site),
    supportedAlgorithmIDs,
    requireUserVerification: true,
  }).catch(() => undefined)
  if (verified?.verified !== true) throw refused
  const { credential, credentialBackedUp } = verified.registrationInfo
  return {
    id: newId(),
    memberId,
    credentialId: Buffer.from(credential.id, 'base64url'),
    publicKey: Buffer.from(credential.publicKey),
    counter: BigInt(credential.counter),
    transports: credential.transports ?? [],
    backedUp: credentialBackedUp,
  }
}

/** Reads an answer, which is not verified yet. Undefined: it is not the answer of a passkey. */
export function readAnswer(
  text: string,
): { readonly credentialId: Buffer; readonly challenge: Buffer; readonly memberId: string | undefined } | undefined {
  const given = readCredential(text)
  try {
    const { id, response } = given as {
      readonly id: string
      readonly response: { readonly clientDataJSON: string; readonly userHandle?: string | null }
    }
    const client = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8')) as {
      challenge: string
    }
    const handle = response.userHandle ? Buffer.from(response.userHandle, 'base64url').toString('utf8') : undefined
    return {
      credentialId: Buffer.from(id, 'base64url'),
      challenge: Buffer.from(client.challenge, 'base64url'),
      memberId: handle,
    }
  } catch {
    return undefined
  }
}

type VerifiedAnswer = {
  readonly counter: bigint
  readonly backedUp: boolean
  /** Base64 of the signed data and of the signature. */
  readonly signed: { readonly authenticatorData: string; readonly clientData: string; readonly signature: string }
}

/** The values to record of a verified answer. Undefined: the signature, the site or the challenge is wrong, or the user was not verified. */
export async function verifyAnswer(
  site: Site,
  text: string,
  passkey: PasskeyRow,
  challenge: Buffer,
): Promise<VerifiedAnswer | undefined> {
  const { verifyAuthenticationResponse } = await library()
  const given = readCredential(text) as AuthenticationResponseJSON
  const verified = await verifyAuthenticationResponse({
    response: given,
    expectedChallenge: challenge.toString('base64url'),
    expectedOrigin: site.origin,
    expectedRPID: domainOf(site),
    requireUserVerification: true,
    credential: {
      id: passkey.credentialId.toString('base64url'),
      publicKey: Uint8Array.from(passkey.publicKey),
      counter: Number(passkey.counter),
    },
  }).catch(() => undefined)
  if (verified?.verified !== true) return undefined
  const { newCounter, credentialBackedUp } = verified.authenticationInfo
  const { authenticatorData, clientDataJSON, signature } = given.response
  const signed = {
    authenticatorData: toBase64(authenticatorData),
    clientData: toBase64(clientDataJSON),
    signature: toBase64(signature),
  }
  return { counter: BigInt(newCounter), backedUp: credentialBackedUp, signed }
}

const toBase64 = (base64url: string): string => Buffer.from(base64url, 'base64url').toString('base64')

/** COSE labels of keys (RFC 9053, section 7): type, curve or modulus, and the two further parameters. */
const label = { type: 1, curveOrModulus: -1, xOrExponent: -2, y: -3 } as const
const curves: Readonly<Record<number, string>> = { 1: 'P-256', 6: 'Ed25519' }

/** Base64 of the SPKI (RFC 5280) of a stored key, so that anyone can verify its signatures with a common library. */
export async function spkiOf(publicKey: Uint8Array): Promise<string> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers')
  const key: ReadonlyMap<number, unknown> = decodeCredentialPublicKey(Uint8Array.from(publicKey)) as never
  const text = (name: keyof typeof label) => Buffer.from(key.get(label[name]) as Uint8Array).toString('base64url')
  const crv = curves[Number(key.get(label.curveOrModulus))] ?? ''
  const jwks: Readonly<Record<number, () => Readonly<Record<string, string>>>> = {
    1: () => ({ kty: 'OKP', crv, x: text('xOrExponent') }),
    2: () => ({ kty: 'EC', crv, x: text('xOrExponent'), y: text('y') }),
    3: () => ({ kty: 'RSA', n: text('curveOrModulus'), e: text('xOrExponent') }),
  }
  const jwk = present(jwks[Number(key.get(label.type))], 'a stored key has a type that we accept')()
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'der', type: 'spki' }).toString('base64')
}

function readCredential(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
