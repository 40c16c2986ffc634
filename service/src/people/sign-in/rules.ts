/** Pure: how long things last, the forms of tokens, codes and challenges, and one-time codes by time. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { after, assert, dayMs, hourMs, minuteMs, secondMs } from '../../kernel/index.ts'

export const idleMs = 15 * minuteMs
/** Article 4(3)(d) of the RTS on strong customer authentication (Regulation (EU) 2018/389), for pages with money. */
export const moneyIdleMs = 5 * minuteMs
export const sessionMs = 12 * hourMs
/** Article 4(3)(b) of the same: at most five failures in a row, then a block. */
const failuresMax = 5
const blockedMs = 15 * minuteMs
/** Reports whether this was the last attempt before the block. */
export const isLastAttempt = (attempts: number): boolean => attempts >= failuresMax

/** A session that is over by itself stays known for so long, so that a form of its browser is kept for its person. */
export const endedKnownMs = 7 * dayMs
/** A form that met an ended session is kept for so long. */
export const keptFormMs = 30 * minuteMs
/** Kept forms of a person: more are not of one browser with some tabs. */
export const keptFormsMax = 20

/** The cookie of a device lasts as long, from its last sign-in. */
export const deviceMs = 365 * dayMs
/** Devices of a member: those of the last sign-ins. An older one counts as new again. */
export const devicesMax = 20

/** A page of the sign-in may stay open for so long. */
export const challengeMs = 10 * minuteMs

/** A change of how people sign in, or of who may, needs a sign-in that is younger: a session may have come into other hands. */
const recentMs = 5 * minuteMs
export const isRecentSignIn = (signedInAt: Date, now: Date): boolean => now.getTime() - signedInAt.getTime() < recentMs

/** A page that asks for a confirmation can be answered for so long. */
export const confirmationMs = 2 * minuteMs

/** The limit of attempts with a password or a code, at a time. */
export const attemptLimit = (now: Date) => ({ failuresMax, blockedUntil: after(now, blockedMs), now })

export const passwordCharsMin = 12
export const passwordCharsMax = 128

/** The token of a session: the partner's id and 256 random bits, as of a link. The cookie alone has it. */
export const tokenHash = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Hashes the value of a device for one member, so that the rows do not tell which accounts share a browser. */
export const deviceHash = (memberId: string, device: string): Buffer =>
  createHash('sha256').update(`${memberId} ${device}`).digest()

const totpPeriodMs = 30 * secondMs
/** Codes of the step before and of the step after are accepted (RFC 6238, section 5.2). */
const totpWindow = 1
const totpSecretBytes = 20

/** The secret of the authenticator app of an invitation, in base32: the page may be shown again. */
export const totpSecretOf = (key: Uint8Array, invitation: Uint8Array): string =>
  new Secret({ buffer: Uint8Array.from(hmac(key, 'totp', invitation).subarray(0, totpSecretBytes)).buffer }).base32

const totp = (secret: string, labels: { readonly issuer?: string; readonly label?: string } = {}) =>
  new TOTP({
    ...labels,
    algorithm: 'SHA1',
    digits: 6,
    period: totpPeriodMs / secondMs,
    secret: Secret.fromBase32(secret),
  })

/** Key URI of authenticator apps. */
export const totpUri = (secret: string, issuer: string, label: string): string =>
  totp(secret, { issuer, label }).toString()

/** The time step of a code, which must be later than `afterStep`. Undefined: the code is wrong or was used. */
export function stepOfCode(secret: string, code: string, now: Date, afterStep: bigint): bigint | undefined {
  const delta = totp(secret).validate({ token: code, timestamp: now.getTime(), window: totpWindow })
  if (delta === null) return undefined
  const step = BigInt(Math.floor(now.getTime() / totpPeriodMs) + delta)
  return step > afterStep ? step : undefined
}

const recoveryAlphabet = 'abcdefghjkmnpqrstvwxyz23456789'
const recoveryChars = 16
export const recoveryCodes = 10
/** Bytes that give a code without a bias are below this. */
const unbiased = 256 - (256 % recoveryAlphabet.length)

/** Writes a code of 78 bits as `abcd-efgh-jkmn-pqrs`, out of more random bytes than it needs. */
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

/** The code as it was shown, however it was typed. Undefined: it is no recovery code. */
export function readRecoveryCode(text: string): string | undefined {
  const code = text.toLowerCase().replaceAll(/[\s-]/g, '')
  return new RegExp(`^[${recoveryAlphabet}]{${recoveryChars}}$`).test(code) ? code : undefined
}

/** Hashes a code. It has too many bits to be guessed from its hash, and no key, so that it outlives a rotation of the master key. */
export const recoveryHash = (memberId: string, code: string): Buffer =>
  createHash('sha256')
    .update(`${memberId} ${readRecoveryCode(code) ?? code}`)
    .digest()

/** The challenge of the passkey that accepts an invitation. The invitation is accepted once, so that it is answered once. */
export const invitationChallenge = (key: Uint8Array, invitation: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hmac(key, 'passkey', invitation))

const challengeRandomBytes = 16
const challengeTimeBytes = 6
const challengeBytes = challengeRandomBytes + challengeTimeBytes + 32

/** Makes a challenge that says until when it can be answered. No row is written before it is answered. */
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

/** The time until which a challenge of ours can be answered. Undefined: it is none of ours for this partner, or it is over. */
export function readChallenge(key: Uint8Array, partnerId: string, challenge: Uint8Array, now: Date): Date | undefined {
  if (challenge.length !== challengeBytes) return undefined
  const bytes = Buffer.from(challenge)
  const body = bytes.subarray(0, challengeRandomBytes + challengeTimeBytes)
  if (!timingSafeEqual(bytes.subarray(body.length), hmac(key, `challenge ${partnerId}`, body))) return undefined
  const until = new Date(body.readUIntBE(challengeRandomBytes, challengeTimeBytes))
  return until > now ? until : undefined
}

const hmac = (key: Uint8Array, purpose: string, data: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${purpose}\n`).update(data).digest()

/** Pure: the browser and the system of a user agent, in words. Only these words are shown, so that the header cannot write a text of its own. */

/** Browsers in the order in which they are tried: Edge, Opera and Samsung also name Chrome, and Chrome also names Safari. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Microsoft Edge'],
  [/\b(?:OPR|Opera|OPT)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
]

/** Systems in the order in which they are tried: Android names Linux, and an iPhone names Mac OS X. An iPad says that it is a Mac, unless it is asked for the mobile site. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows NT\b/, 'Windows'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

/** The words of a language about devices. `on` has `{browser}` and `{system}`. */
type DeviceWords = { readonly on: string; readonly browser: string; readonly system: string }

const english: DeviceWords = { on: '{browser} on {system}', browser: 'an unknown browser', system: 'an unknown system' }

/** The browser and the system, for example `Firefox on Windows`. */
export function deviceOf(userAgent: string, words = english): string {
  const [browser, system] = [browsers, systems].map((known) => known.find(([form]) => form.test(userAgent))?.[1])
  if (browser === undefined && system === undefined) return words.browser
  return words.on.replace('{browser}', browser ?? words.browser).replace('{system}', system ?? words.system)
}
