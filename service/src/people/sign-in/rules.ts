/** Pure: durations, the forms of tokens, codes and challenges, and time-based one-time codes. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { after, assert, dayMs, hourMs, minuteMs, secondMs } from '../../kernel/index.ts'

export const idleMs = 15 * minuteMs
/** Article 4(3)(d) of the RTS on strong customer authentication (Regulation (EU) 2018/389), for pages with money. */
export const moneyIdleMs = 5 * minuteMs
export const sessionMs = 12 * hourMs
/** Article 4(3)(b) of that regulation: at most five failures in a row, then a block. */
const failuresMax = 5
const blockedMs = 15 * minuteMs
/** Reports whether this was the last attempt before the block. */
export const isLastAttempt = (attempts: number): boolean => attempts >= failuresMax

/** How long an expired session is stored, so that a form sent from its browser can be kept for its person. */
export const expiredSessionRetentionMs = 7 * dayMs
/** How long a form that was sent after the end of its session is kept. */
export const keptFormMs = 30 * minuteMs
/** Maximum number of kept forms of a person: enough for a browser with several tabs. */
export const keptFormsMax = 20

/** How long the cookie of a device lasts after its last sign-in. */
export const deviceMs = 365 * dayMs
/** Maximum number of known devices of a member. An older device counts as new again. */
export const devicesMax = 20

/** How long a sign-in page may stay open. */
export const challengeMs = 10 * minuteMs

/** A change of how people sign in, or of who may, needs a sign-in that is more recent, because a session may have been stolen. */
const recentMs = 5 * minuteMs
export const isRecentSignIn = (signedInAt: Date, now: Date): boolean => now.getTime() - signedInAt.getTime() < recentMs

/** How long a page that asks for a confirmation can be answered. */
export const confirmationMs = 2 * minuteMs

/** Returns the limit of attempts with a password or a code, at this time. */
export const attemptLimit = (now: Date) => ({ failuresMax, blockedUntil: after(now, blockedMs), now })

export const passwordCharsMin = 12
export const passwordCharsMax = 128

/** Hashes the value of a device for one member, so that the rows do not reveal which accounts share a browser. */
export const deviceHash = (memberId: string, device: string): Buffer =>
  createHash('sha256').update(`${memberId} ${device}`).digest()

const totpPeriodMs = 30 * secondMs
/** Codes of the previous and the next step are accepted (RFC 6238, section 5.2). */
const totpWindow = 1
const totpSecretBytes = 20

/** Derives the secret of an invitation's authenticator app, in base32, so that the page always shows the same one. */
export const deriveTotpSecret = (key: Uint8Array, invitation: Uint8Array): string =>
  new Secret({ buffer: Uint8Array.from(hmac(key, 'totp', invitation).subarray(0, totpSecretBytes)).buffer }).base32

const totp = (secret: string, labels: { readonly issuer?: string; readonly label?: string } = {}) =>
  new TOTP({
    ...labels,
    algorithm: 'SHA1',
    digits: 6,
    period: totpPeriodMs / secondMs,
    secret: Secret.fromBase32(secret),
  })

/** Returns the key URI for authenticator apps. */
export const totpUri = (secret: string, issuer: string, label: string): string =>
  totp(secret, { issuer, label }).toString()

/** Finds the time step of a code, which must be later than `afterStep`. Undefined: the code is wrong or was used. */
export function findCodeStep(secret: string, code: string, now: Date, afterStep: bigint): bigint | undefined {
  const delta = totp(secret).validate({ token: code, timestamp: now.getTime(), window: totpWindow })
  if (delta === null) return undefined
  const step = BigInt(Math.floor(now.getTime() / totpPeriodMs) + delta)
  return step > afterStep ? step : undefined
}

const recoveryAlphabet = 'abcdefghjkmnpqrstvwxyz23456789'
const recoveryChars = 16
export const recoveryCodeCount = 10
/** Bytes below this give every letter with the same probability. */
const unbiased = 256 - (256 % recoveryAlphabet.length)

/** Formats a code of 78 bits as `abcd-efgh-jkmn-pqrs`, from more random bytes than it needs. */
export function formatRecoveryCode(random: Uint8Array): string {
  const letters = [...random]
    .filter((byte) => byte < unbiased)
    .map((byte) => recoveryAlphabet[byte % recoveryAlphabet.length])
  assert(letters.length >= recoveryChars, 'a recovery code is made of enough random bytes')
  return letters
    .slice(0, recoveryChars)
    .join('')
    .replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Normalizes a typed recovery code. Undefined: the text has another form. */
export function readRecoveryCode(text: string): string | undefined {
  const code = text.toLowerCase().replaceAll(/[\s-]/g, '')
  return new RegExp(`^[${recoveryAlphabet}]{${recoveryChars}}$`).test(code) ? code : undefined
}

/** Hashes a code, which has too many bits to be guessed. Does not use a key, so that the hash outlives a rotation of the master key. */
export const recoveryHash = (memberId: string, code: string): Buffer =>
  createHash('sha256')
    .update(`${memberId} ${readRecoveryCode(code) ?? code}`)
    .digest()

/** Derives the challenge of the passkey that accepts an invitation. It is answered once, because the invitation is accepted once. */
export const invitationChallenge = (key: Uint8Array, invitation: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hmac(key, 'passkey', invitation))

const challengeRandomBytes = 16
const challengeTimeBytes = 6
const challengeBytes = challengeRandomBytes + challengeTimeBytes + 32

/** Creates a challenge that contains its expiry, so that the database has a row only after the answer. */
export function newChallenge(
  key: Uint8Array,
  partnerId: string,
  random: Uint8Array,
  until: Date,
): Uint8Array<ArrayBuffer> {
  const time = Buffer.alloc(challengeTimeBytes)
  time.writeUIntBE(until.getTime(), 0, challengeTimeBytes)
  const body = Buffer.concat([random.subarray(0, challengeRandomBytes), time])
  return Uint8Array.from(Buffer.concat([body, hmac(key, `challenge ${partnerId}`, body)]))
}

/** Verifies a challenge and returns its expiry. Undefined: the service did not issue it for this partner, or it has expired. */
export function verifyChallenge(
  key: Uint8Array,
  partnerId: string,
  challenge: Uint8Array,
  now: Date,
): Date | undefined {
  if (challenge.length !== challengeBytes) return undefined
  const bytes = Buffer.from(challenge)
  const body = bytes.subarray(0, challengeRandomBytes + challengeTimeBytes)
  if (!timingSafeEqual(bytes.subarray(body.length), hmac(key, `challenge ${partnerId}`, body))) return undefined
  const until = new Date(body.readUIntBE(challengeRandomBytes, challengeTimeBytes))
  return until > now ? until : undefined
}

const hmac = (key: Uint8Array, purpose: string, data: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${purpose}\n`).update(data).digest()

// The browser and the system of a user agent. Pages show only these words, so that the header cannot put its own text on a page.

/** Browsers in the order of the checks: Edge, Opera and Samsung also name Chrome, and Chrome also names Safari. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Microsoft Edge'],
  [/\b(?:OPR|Opera|OPT)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
]

/** Systems in the order of the checks: Android also names Linux, and an iPhone names Mac OS X. An iPad names itself a Mac, except on mobile sites. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows NT\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** How a language names devices. `on` contains `{browser}` and `{system}`. */
type DeviceWords = { readonly on: string; readonly browser: string; readonly system: string }

const english: DeviceWords = { on: '{browser} on {system}', browser: 'an unknown browser', system: 'an unknown system' }

/** Names the browser and the system, for example `Firefox on Windows`. */
export function describeDevice(userAgent: string, words = english): string {
  const [browser, system] = [browsers, systems].map((known) => known.find(([form]) => form.test(userAgent))?.[1])
  if (browser === undefined && system === undefined) return words.browser
  return words.on.replace('{browser}', browser ?? words.browser).replace('{system}', system ?? words.system)
}
