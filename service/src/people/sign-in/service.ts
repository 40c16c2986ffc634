/** The verbs of signing in. */
import { newLinkToken, readLink, refuseField } from '../../kernel/api/index.ts'
import { after, type Clock, deriveKey, minuteMs, newId, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import {
  confirmationOptions,
  creationOptions,
  readAnswer,
  refusedPasskey,
  requestOptions,
  type Site,
  toSpki,
  verifyAnswer,
  verifyNewPasskey,
} from './passkeys.ts'
import { hashPassword, isPassword, type Person, refuseWeakPassword, totpContext } from './passwords.ts'
import { createKeptForms, type KeptForms } from './kept-forms.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'
import { challengeOf, type SignedApproval } from '@partner-payments/wire'

/** The person who accepts an invitation, and the hash of its token. */
export type Invited = Person & { readonly partnerName: string; readonly memberId: string; readonly seed: Uint8Array }

export type Enrolment = {
  /** Base32, for the authenticator app. */
  readonly totpSecret: string
  readonly totpUri: string
  /** JSON of PublicKeyCredentialCreationOptions. */
  readonly passkeyOptions: string
}

/** How the person wants to sign in, as the form has it. */
export type GivenFactor =
  | { readonly kind: 'passkey'; readonly credential: string }
  | { readonly kind: 'password'; readonly password: string; readonly code: string }

/** A factor that was proved and is not stored yet. */
export type Factor =
  | { readonly kind: 'passkey'; readonly row: store.PasskeyRow }
  | { readonly kind: 'password'; readonly hash: string; readonly totpSecret: string; readonly step: bigint }

/**
 * The browser of a person who signs in. `device`: the value of a cookie that the browser keeps for a year, 256 random bits. The user agent would not do:
 * millions of browsers share one, so a stranger's would count as known, and it changes with each update, so the person's own would count
 * as new every month. Nor would the IP address, which changes with the network. Absent: no cookie is set, and the device counts as new.
 */
export type Client = { readonly ip: string; readonly userAgent: string; readonly device?: string }

/** `isNewDevice`: the member has not signed in from the device before. */
export type Opened = { readonly token: string; readonly isNewDevice: boolean }

export type Session = {
  readonly id: string
  readonly partnerId: string
  readonly memberId: string
  readonly factor: store.Factor
  readonly ip: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
  /** True if it was unused for more than five minutes. Then its person signs in again before a page shows money. */
  readonly rested: boolean
}

export type PasswordVerdict = 'code' | 'recovery code' | 'refused' | 'blocked'

export type SignIn = {
  /** The values by which a page lets a person choose a factor. The same for each time that the page is shown. */
  readonly enrolment: (invited: Invited) => Promise<Enrolment>
  /** Proves the factor that a person has chosen. Refuses: validation_failed (/password, /code, /credential). */
  readonly prove: (invited: Invited, given: GivenFactor) => Promise<Factor>
  /** Stores a factor of a member; a password replaces the one before. Refuses: validation_failed (/credential: it is taken). Returns the recovery codes of a password, which cannot be read again. */
  readonly enrol: (tx: Tx, partnerId: string, memberId: string, factor: Factor) => Promise<readonly string[]>
  /** JSON of PublicKeyCredentialRequestOptions, to be answered within ten minutes. */
  readonly passkeyOptions: (partnerId: string) => Promise<string>
  /** The member who has answered with a passkey. Undefined: the answer is refused. */
  readonly byPasskey: (partnerId: string, credential: string) => Promise<string | undefined>
  /**
   * Reports whether the member has this password and this code, or recovery code. After five failures in a row it is refused for 15 minutes; the
   * fifth one says `blocked`.
   */
  readonly byPassword: (
    partnerId: string,
    memberId: string | undefined,
    given: { readonly password: string; readonly code: string },
  ) => Promise<PasswordVerdict>
  /** Opens a session, and notes its device. */
  readonly open: (
    tx: Tx,
    partnerId: string,
    memberId: string,
    by: Client & { readonly factor: store.Factor },
  ) => Promise<Opened>
  /** Undefined: no such session, or it has ended. Notes that it was used, unless a page that is open asks by itself. */
  readonly session: (token: string, by?: 'person' | 'page') => Promise<Session | undefined>
  /** Newest first. */
  readonly sessions: (partnerId: string, memberId: string) => Promise<readonly Session[]>
  /** Ends one session of a member. False: there is none. */
  readonly end: (partnerId: string, memberId: string, id: string) => Promise<boolean>
  /** Ends all sessions of a member, which keeps its factors. */
  readonly endAll: (tx: Tx, partnerId: string, memberId: string) => Promise<void>
  /** Ends all sessions of a member but one. */
  readonly endOthers: (partnerId: string, memberId: string, keptId: string) => Promise<number>
  /** Ends all sessions of a member and forgets how and where the member signs in. */
  readonly forget: (tx: Tx, partnerId: string, memberId: string) => Promise<void>
  readonly factorsOf: typeof store.factorsOf
  readonly factorList: typeof store.factorList
  /** Removes a passkey of a member. False: it is the last factor, or there is none with this id. */
  readonly removePasskey: (tx: Tx, partnerId: string, memberId: string, id: string) => Promise<boolean>
  /** Replaces the token of a session, which keeps its times. A token that was copied before ends. */
  readonly rotate: (partnerId: string, sessionId: string) => Promise<string>
  readonly forms: KeptForms
} & Confirmations

export type SignInDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** The first master key. */
  readonly masterKey: Uint8Array
  readonly site: Site
}

type Keyed = SignInDeps & { readonly key: Uint8Array }

export function createSignIn(deps: SignInDeps): SignIn {
  const { db, clock } = deps
  const keyed = { ...deps, key: deriveKey(deps.masterKey, 'sign-in') }
  const alive = (): store.Alive => ({ usedAfter: after(clock.now(), -rules.idleMs), now: clock.now() })
  const session: SignIn['session'] = async (token, by = 'person') => {
    const partnerId = readLink(token)
    if (partnerId === undefined) return undefined
    const row = await store.sessionOf(db, partnerId, rules.tokenHash(token), alive())
    if (row === undefined) return undefined
    const now = clock.now()
    const restedBefore = after(now, -rules.moneyIdleMs)
    const rested = row.rested || row.lastUsedAt <= restedBefore
    if (by === 'person' && now.getTime() - row.lastUsedAt.getTime() > minuteMs)
      await store.recordSessionUse(db, partnerId, row.id, { now, restedBefore })
    return toSession(partnerId, { ...row, rested })
  }
  return {
    forms: createKeptForms({ ...deps, session }),
    session,
    ...createEnrolment(keyed),
    ...createProofs(keyed),
    ...createConfirmations(keyed),
    open: async (tx, partnerId, memberId, { ip, userAgent, factor, device }) => {
      const now = clock.now()
      const token = newLinkToken(partnerId)
      const known = after(now, -rules.endedKnownMs)
      await store.forgetSessions(tx, partnerId, memberId, { usedAfter: after(known, -rules.idleMs), now: known })
      const times = { createdAt: now, lastUsedAt: now, expiresAt: after(now, rules.sessionMs) }
      const by = { factor, ip, userAgent: userAgent.slice(0, userAgentCharsMax) }
      await store.insertSession(tx, partnerId, {
        id: newId(),
        memberId,
        tokenHash: rules.tokenHash(token),
        ...by,
        ...times,
      })
      if (device === undefined) return { token, isNewDevice: true }
      const used = { memberId, hash: rules.deviceHash(memberId, device) }
      const kept = { now, usedAfter: after(now, -rules.deviceMs), devicesMax: rules.devicesMax }
      return { token, isNewDevice: await store.recordDevice(tx, partnerId, used, kept) }
    },
    sessions: async (partnerId, memberId) =>
      (await store.sessionsOf(db, partnerId, memberId, alive())).map((row) => toSession(partnerId, row)),
    end: async (partnerId, memberId, id) => (await store.endSession(db, partnerId, memberId, id)) === 1,
    endAll: async (tx, partnerId, memberId) => void (await store.endSessions(tx, partnerId, memberId, null)),
    endOthers: (partnerId, memberId, keptId) => store.endSessions(db, partnerId, memberId, keptId),
    forget: async (tx, partnerId, memberId) => {
      await store.endSessions(tx, partnerId, memberId, null)
      await store.forgetFactors(tx, partnerId, memberId)
      await store.forgetDevices(tx, partnerId, memberId)
      await store.forgetForms(tx, partnerId, memberId)
    },
    factorsOf: store.factorsOf,
    factorList: store.factorList,
    removePasskey: async (tx, partnerId, memberId, id) => {
      const ids = await store.lockPasskeys(tx, partnerId, memberId)
      const { passwordSince } = await store.factorList(tx, partnerId, memberId)
      if (!ids.includes(id) || (ids.length === 1 && passwordSince === null)) return false
      await store.deletePasskey(tx, partnerId, id)
      return true
    },
    rotate: async (partnerId, sessionId) => {
      const token = newLinkToken(partnerId)
      await store.replaceToken(db, partnerId, sessionId, rules.tokenHash(token))
      return token
    },
  }
}

const userAgentCharsMax = 400

const toSession = (partnerId: string, { tokenHash: _hash, ...row }: store.SessionRow): Session => ({
  partnerId,
  ...row,
})

function createEnrolment({ key, site, clock, sealer }: Keyed): Pick<SignIn, 'enrolment' | 'prove' | 'enrol'> {
  return {
    enrolment: async (invited) => {
      const totpSecret = rules.totpSecretOf(key, invited.seed)
      const challenge = rules.invitationChallenge(key, invited.seed)
      const passkeyOptions = await creationOptions(site, { ...invited, challenge })
      return { totpSecret, totpUri: rules.totpUri(totpSecret, site.name, invited.email), passkeyOptions }
    },
    prove: async (invited, given) => {
      if (given.kind === 'passkey') {
        const challenge = rules.invitationChallenge(key, invited.seed)
        const row = await verifyNewPasskey(site, given.credential, { memberId: invited.memberId, challenge })
        return { kind: 'passkey', row }
      }
      await refuseWeakPassword(given.password, invited)
      const totpSecret = rules.totpSecretOf(key, invited.seed)
      const step = rules.stepOfCode(totpSecret, given.code.replaceAll(/\s/g, ''), clock.now(), 0n)
      if (step === undefined)
        throw refuseField({
          pointer: '/code',
          code: 'invalid_value',
          message: 'is not the code that the app shows now',
        })
      return { kind: 'password', hash: await hashPassword(given.password), totpSecret, step }
    },
    enrol: async (tx, partnerId, memberId, factor) => {
      const now = clock.now()
      if (factor.kind === 'passkey') {
        if (!(await store.insertPasskey(tx, partnerId, factor.row, now)))
          throw refusedPasskey('is already used by a member of the partner')
        return []
      }
      const { hash, totpSecret, step: totpStep } = factor
      const totpSealed = sealer.seal(totpSecret, totpContext(partnerId, memberId))
      await store.setPassword(tx, partnerId, memberId, { hash, totpSealed, totpStep }, now)
      const codes = Array.from({ length: rules.recoveryCodes }, () =>
        rules.formatRecoveryCode(randomBytes(recoveryRandomBytes)),
      )
      const hashes = codes.map((code) => rules.recoveryHash(memberId, code))
      await store.setRecoveryCodes(tx, partnerId, memberId, hashes)
      return codes
    },
  }
}

/** More than a code has letters, because some bytes give none. */
const recoveryRandomBytes = 32

function createProofs(deps: Keyed): Pick<SignIn, 'passkeyOptions' | 'byPasskey' | 'byPassword'> {
  const { db, key, site, clock, sealer } = deps
  return {
    passkeyOptions: (partnerId) => {
      const until = after(clock.now(), rules.challengeMs)
      return requestOptions(site, rules.newChallenge(key, partnerId, randomBytes(16), until))
    },
    byPasskey: async (partnerId, credential) => {
      const answer = readAnswer(credential)
      const now = clock.now()
      const expiresAt = answer && rules.readChallenge(key, partnerId, answer.challenge, now)
      if (answer === undefined || expiresAt === undefined) return undefined
      const passkey = await store.passkeyOf(db, partnerId, answer.credentialId)
      const use = passkey && (await verifyAnswer(site, answer, passkey))
      if (passkey === undefined || use === undefined) return undefined
      if (answer.memberId !== undefined && answer.memberId !== passkey.memberId) return undefined
      return db.transaction(async (tx) => {
        if (!(await store.answerChallenge(tx, partnerId, answer.challenge, { expiresAt, now }))) return undefined
        await store.recordPasskeyUse(tx, partnerId, { id: passkey.id, ...use, now })
        return passkey.memberId
      })
    },
    byPassword: async (partnerId, memberId, { password, code }) => {
      const now = clock.now()
      const row =
        memberId === undefined ? undefined : await store.beginAttempt(db, partnerId, memberId, rules.attemptLimit(now))
      const matches = await isPassword(password, row?.hash)
      if (memberId === undefined || row === undefined) return 'refused'
      const failed = rules.isLastAttempt(row.failures) ? 'blocked' : 'refused'
      if (!matches) return failed
      const recovery = rules.readRecoveryCode(code)
      if (recovery !== undefined) {
        const hash = rules.recoveryHash(memberId, recovery)
        const isUsed = await db.transaction(
          async (tx) =>
            (await store.useRecoveryCode(tx, partnerId, memberId, hash, now)) &&
            (await store.endAttempt(tx, partnerId, memberId, null)),
        )
        return isUsed ? 'recovery code' : failed
      }
      const secret = sealer.open(row.totpSealed, totpContext(partnerId, memberId))
      const step = rules.stepOfCode(secret, code.replaceAll(/\s/g, ''), now, row.totpStep)
      const isRight = step !== undefined && (await store.endAttempt(db, partnerId, memberId, step))
      return isRight ? 'code' : failed
    },
  }
}

// Confirmations: a person who is signed in proves a factor again over a text that was shown, such as a payout.

/** How the person confirms, as the form has it. */
export type GivenConfirmation =
  | { readonly kind: 'passkey'; readonly credential: string }
  | { readonly kind: 'code'; readonly code: string }

/** A page that asks for a confirmation. Its nonce is a part of the text, is answered once, and says until when. */
type Asking = { readonly nonce: string; readonly expiresAt: Date }

type Purpose = 'approval' | 'factor'

export type Confirmations = {
  /** Makes the nonce of a page: an approval can be answered for two minutes, a new factor for ten. Writes nothing. */
  readonly ask: (partnerId: string, memberId: string, purpose: Purpose) => Asking
  /** The nonce of a form again. Undefined: it is none of ours for this person and purpose, or its time has ended. */
  readonly readAsking: (partnerId: string, memberId: string, purpose: Purpose, nonce: string) => Asking | undefined
  /** Records that a page was answered. False: it was already answered. */
  readonly answer: (tx: Tx, partnerId: string, asked: Asking) => Promise<boolean>
  /** JSON of PublicKeyCredentialRequestOptions whose challenge is the text. Undefined: the person has no passkey. */
  readonly passkeyOptionsFor: (partnerId: string, memberId: string, text: string) => Promise<string | undefined>
  /**
   * The evidence that the person has confirmed the text. Who has a passkey confirms with it. Undefined: the answer is wrong or late, was
   * given before, or is about another text. A wrong code counts as a failure of the password.
   */
  readonly confirm: (
    partnerId: string,
    memberId: string,
    asked: Asking & { readonly text: string },
    given: GivenConfirmation,
  ) => Promise<SignedApproval | undefined>
}

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly site: Site
  readonly key: Uint8Array
}

function createConfirmations(deps: Deps): Confirmations {
  const { db, clock, key, site } = deps
  const scopeOf = (partnerId: string, memberId: string, purpose: Purpose) => `${partnerId} ${purpose} ${memberId}`
  const answer: Confirmations['answer'] = (tx, partnerId, { nonce, expiresAt }) =>
    store.answerChallenge(tx, partnerId, Buffer.from(nonce, 'base64url'), { expiresAt, now: clock.now() })
  return {
    answer,
    ask: (partnerId, memberId, purpose) => {
      const expiresAt = after(clock.now(), purpose === 'approval' ? rules.confirmationMs : rules.challengeMs)
      const nonce = rules.newChallenge(
        key,
        scopeOf(partnerId, memberId, purpose),
        randomBytes(nonceRandomBytes),
        expiresAt,
      )
      return { nonce: Buffer.from(nonce).toString('base64url'), expiresAt }
    },
    readAsking: (partnerId, memberId, purpose, nonce) => {
      const bytes = Buffer.from(nonce, 'base64url')
      const expiresAt = rules.readChallenge(key, scopeOf(partnerId, memberId, purpose), bytes, clock.now())
      return expiresAt && { nonce: bytes.toString('base64url'), expiresAt }
    },
    passkeyOptionsFor: async (partnerId, memberId, text) => {
      const passkeys = await store.passkeysOf(db, partnerId, memberId)
      return passkeys.length === 0 ? undefined : confirmationOptions(site, passkeys, challengeOf(text))
    },
    confirm: async (partnerId, memberId, asked, given) => {
      const evidence =
        given.kind === 'passkey'
          ? await byPasskey(deps, partnerId, memberId, { text: asked.text, credential: given.credential })
          : await byCode(deps, partnerId, memberId, { text: asked.text, code: given.code })
      if (evidence === undefined) return undefined
      return (await answer(db, partnerId, asked)) ? evidence : undefined
    },
  }
}

const nonceRandomBytes = 16

async function byPasskey(
  { db, clock, site }: Deps,
  partnerId: string,
  memberId: string,
  { text, credential }: { readonly text: string; readonly credential: string },
): Promise<SignedApproval | undefined> {
  const answer = readAnswer(credential)
  const challenge = challengeOf(text)
  if (answer === undefined || !answer.challenge.equals(challenge)) return undefined
  const passkey = await store.passkeyOf(db, partnerId, answer.credentialId)
  if (passkey?.memberId !== memberId) return undefined
  const use = await verifyAnswer(site, answer, passkey)
  if (use === undefined) return undefined
  await store.recordPasskeyUse(db, partnerId, {
    id: passkey.id,
    counter: use.counter,
    backedUp: use.backedUp,
    now: clock.now(),
  })
  const publicKey = await toSpki(passkey.publicKey)
  return { snapshot: text, factor: 'passkey', passkey: { origin: site.origin, publicKey, ...use.signed } }
}

async function byCode(
  { db, clock, sealer }: Deps,
  partnerId: string,
  memberId: string,
  { text, code }: { readonly text: string; readonly code: string },
): Promise<SignedApproval | undefined> {
  const now = clock.now()
  const passkeys = await store.passkeysOf(db, partnerId, memberId)
  if (passkeys.length > 0) return undefined
  const row = await store.beginAttempt(db, partnerId, memberId, rules.attemptLimit(now))
  if (row === undefined) return undefined
  const secret = sealer.open(row.totpSealed, totpContext(partnerId, memberId))
  const step = rules.stepOfCode(secret, code.replaceAll(/\s/g, ''), now, row.totpStep)
  if (step === undefined || !(await store.endAttempt(db, partnerId, memberId, step))) return undefined
  return { snapshot: text, factor: 'code' }
}
