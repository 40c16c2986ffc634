/** Passwords: which ones are refused, and how they are stored (argon2id, RFC 9106). */
import { argon2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { FieldError } from '@partner-payments/wire'
import { refuseField } from '../../kernel/api/index.ts'
import { loadOnce, randomBytes } from '../../kernel/index.ts'
import { passwordCharsMax, passwordCharsMin } from './rules.ts'
import type { SealedColumn } from '../../postgres/index.ts'

const tagLength = 32
/** The parameters that OWASP recommends for argon2id: 19 MiB, two passes, no parallelism. */
const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength } as const
const saltBytes = 16
/** Minimum score of zxcvbn, from 0 to 4: safe against guessing if each guess is slow. */
const scoreMin = 3

/**
 * Number of characters whose strength is checked, because the checker takes ten times as long for 128. A longer
 * password is at least as hard to guess as its beginning.
 */
const judgedCharsMax = 48

/** Minimum length of a password without the name and the address of its person. */
const ownCharsMin = 8

const derive = promisify(argon2)

export type Person = { readonly email: string; readonly fullName: string }

/** Loads the checker with its lists, when the first password is chosen. */
const loadChecker = async () => {
  const [{ ZxcvbnFactory }, common] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  return new ZxcvbnFactory({ dictionary: { ...common.dictionary }, graphs: common.adjacencyGraphs })
}
const checker = loadOnce(loadChecker)

/** Refuses (400, `/password`) a password that is shorter than 12 characters, longer than 128, or easy to guess. */
export async function refuseWeakPassword(password: string, { email, fullName }: Person): Promise<void> {
  const refused = (message: string, code: FieldError['code'] = 'out_of_range') =>
    refuseField({ pointer: '/password', code, message })
  const chars = Array.from(password).length
  if (chars < passwordCharsMin) throw refused(`must have at least ${passwordCharsMin} characters`)
  if (chars > passwordCharsMax) throw refused(`must have at most ${passwordCharsMax} characters`)
  const known = `${email} ${fullName}`
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part.length > 2)
  const own = known.reduce((rest, part) => rest.replaceAll(part, ''), password.toLowerCase())
  const { score } = (await checker()).check(Array.from(password).slice(0, judgedCharsMax).join(''), known)
  if (score < scoreMin || own.length < ownCharsMin)
    throw refused('is easy to guess: it is a common password, a pattern, or a name', 'invalid_value')
}

/** Returns the PHC string of the hash. Passwords are compared in the form NFKC, because keyboards send different forms. */
export async function hashPassword(password: string): Promise<string> {
  const salt = Buffer.from(randomBytes(saltBytes))
  return write(salt, await hash(password, salt, parameters))
}

/** Compares a password with a hash. Takes the same time without a hash, so that the time does not reveal whether there is one. */
export async function isPasswordCorrect(password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', tag = ''] = form.exec(stored ?? absent) ?? []
  const used = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism), tagLength }
  const given = await hash(password.slice(0, 2 * passwordCharsMax), Buffer.from(salt, 'base64'), used)
  return timingSafeEqual(given, Buffer.from(tag, 'base64')) && stored !== undefined
}

const hash = async (password: string, nonce: Buffer, used: Record<keyof typeof parameters, number>): Promise<Buffer> =>
  Buffer.from(await derive('argon2id', { ...used, message: password.normalize('NFKC'), nonce }))

const form = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/
const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
const write = (salt: Buffer, tag: Buffer): string => {
  const { memory, passes, parallelism } = parameters
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`
}
const absent = write(Buffer.alloc(saltBytes), Buffer.alloc(tagLength))

// Secrets of authenticator apps are sealed beside the password.

export const totpContext = (partnerId: string, memberId: string): readonly string[] => [
  'sign_in.passwords.totp_sealed',
  partnerId,
  memberId,
]

export const sealedTotpSecrets: SealedColumn = {
  table: 'sign_in.passwords',
  column: 'totp_sealed',
  key: { member_id: 'uuid' },
  contextOf: (partnerId, cell) => totpContext(partnerId, cell('member_id')),
}
