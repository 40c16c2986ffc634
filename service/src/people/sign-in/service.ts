/** The operations of sign-in. */
import { newLinkToken, linkPartnerId, refuseField } from '../../kernel/api/index.ts'
import {
  after,
  type Clock,
  deriveKey,
  minuteMs,
  newId,
  randomBytes,
  type Sealer,
  tokenHash,
} from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import {
  confirmationOptions,
  creationOptions,
  parsePasskeyAnswer,
  refusedPasskey,
  passkeyRequestOptions,
  type RelyingParty,
  toSpki,
  verifyPasskeyAnswer,
  verifyNewPasskey,
} from './passkeys.ts'
import { hashPassword, isPasswordCorrect, type Person, refuseWeakPassword, totpContext } from './passwords.ts'
import { createKeptForms, type KeptForms } from './kept-forms.ts'
import * as rules from './rules.ts'
import * as store from './store.ts'
import { approvalChallenge, type SignedApproval } from '@partner-payments/wire'

/** A person who sets a factor. `seed`: the hash of the invitation's token, or random bytes of the page. */
export type EnrollingPerson = Person & {
  readonly partnerName: string
  readonly memberId: string
  readonly seed: Uint8Array
}

export type Enrolment = {
  /** Base32, for the authenticator app. */
  readonly totpSecret: string
  readonly totpUri: string
  /** JSON of PublicKeyCredentialCreationOptions. */
  readonly passkeyOptions: string
}

/** The factor that a person chose in a form. */
export type FactorInput =
  | { readonly kind: 'passkey'; readonly credential: string }
  | { readonly kind: 'password'; readonly password: string; readonly code: string }

/** A factor that was proved and is not stored yet. */
type Factor =
  | { readonly kind: 'passkey'; readonly row: store.PasskeyRow }
  | { readonly kind: 'password'; readonly hash: string; readonly totpSecret: string; readonly step: bigint }

/**
 * The browser of a person who signs in. `device`: 256 random bits, in a cookie that lasts a year. Absent: the device counts as new. The user
 * agent and the IP address cannot replace the cookie: strangers share a user agent, and both change often.
 */
export type Client = { readonly ip: string; readonly userAgent: string; readonly device?: string }

/** `isNewDevice`: the member has not signed in from the device before. */
export type OpenedSession = { readonly token: string; readonly isNewDevice: boolean }

export type Session = Omit<store.SessionRow, 'tokenHash'> & { readonly partnerId: string }

export type PasswordVerdict = 'code' | 'recovery code' | 'refused' | 'blocked'

export type SignIn = {
  /**
   * Returns the values of a page on which a person chooses a factor. The values are the same each time the page is
   * shown.
   */
  readonly enrolment: (invited: EnrollingPerson) => Promise<Enrolment>
  /** Proves the factor that a person has chosen. Refuses: validation_failed (/password, /code, /credential). */
  readonly prove: (invited: EnrollingPerson, given: FactorInput) => Promise<Factor>
  /**
   * Stores a factor of a member. A password replaces the previous one. Returns the recovery codes of a password, which cannot be read
   * again. Refuses: validation_failed (/credential: it is taken).
   */
  readonly enrol: (tx: Tx, partnerId: string, memberId: string, factor: Factor) => Promise<readonly string[]>
  /** Returns the JSON of PublicKeyCredentialRequestOptions, which must be answered within ten minutes. */
  readonly passkeyOptions: (partnerId: string) => Promise<string>
  /** Finds the member who answered with a passkey. Undefined: the answer is refused. */
  readonly verifyPasskey: (partnerId: string, credential: string) => Promise<string | undefined>
  /**
   * Checks a password with a code or a recovery code. The fifth failure in a row returns `blocked`; every attempt in the next 15 minutes is
   * refused.
   */
  readonly verifyPassword: (
    partnerId: string,
    memberId: string | undefined,
    given: { readonly password: string; readonly code: string },
  ) => Promise<PasswordVerdict>
  /** Opens a session, and records its device. */
  readonly open: (
    tx: Tx,
    partnerId: string,
    memberId: string,
    by: Client & { readonly factor: store.SignInMethod },
  ) => Promise<OpenedSession>
  /** Finds a session and records its use, unless `by` is `page`: an open page that refreshes itself. Undefined: no such session, or it has ended. */
  readonly session: (token: string, by?: 'person' | 'page') => Promise<Session | undefined>
  /** Lists the sessions of a member, newest first. */
  readonly sessions: (partnerId: string, memberId: string) => Promise<readonly Session[]>
  /** Ends one session of a member. False: there is none. */
  readonly end: (partnerId: string, memberId: string, id: string) => Promise<boolean>
  /** Ends all sessions of a member. The factors stay. */
  readonly endAll: (tx: Tx, partnerId: string, memberId: string) => Promise<void>
  /** Ends all sessions of a member except one. */
  readonly endOthers: (partnerId: string, memberId: string, keptId: string) => Promise<number>
  /**
   * Holds a session until the transaction ends, so that its end waits for the factor that its person adds. False: it has ended.
   */
  readonly holdSession: typeof store.holdSession
  /** Ends all sessions of a member, and deletes the devices and every way to sign in, also by single sign-on. */
  readonly forget: (tx: Tx, partnerId: string, memberId: string) => Promise<void>
  /** Does the same for a removed member, except that the provider's account stays known, so that it does not join again. */
  readonly forgetRemoved: (tx: Tx, partnerId: string, memberId: string) => Promise<void>
  readonly passwordSince: typeof store.passwordSince
  /** Reports whether the passkey that gave an answer still belongs to the member. */
  readonly hasPasskey: (tx: Tx, partnerId: string, memberId: string, credential: string) => Promise<boolean>
  readonly factorsOf: typeof store.listFactors
  readonly factorList: typeof store.factorList
  /** Removes a passkey of a member. False: it is the last factor, or the id is unknown. */
  readonly removePasskey: (tx: Tx, partnerId: string, memberId: string, id: string) => Promise<boolean>
  /** Replaces the token of a session, which keeps its times. A copied earlier token stops working. */
  readonly rotate: (partnerId: string, sessionId: string) => Promise<string>
  readonly forms: KeptForms
} & Confirmations

export type SignInDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  /** The first master key. */
  readonly masterKey: Uint8Array
  readonly site: RelyingParty
}

type KeyedDeps = SignInDeps & { readonly key: Uint8Array }

export function createSignIn(deps: SignInDeps): SignIn {
  const { db, clock } = deps
  const keyed = { ...deps, key: deriveKey(deps.masterKey, 'sign-in') }
  const alive = (): store.SessionTimes => ({ usedAfter: after(clock.now(), -rules.idleMs), now: clock.now() })
  // The sessions first: `holdSession` relies on it.
  const forgetRemoved: SignIn['forgetRemoved'] = async (tx, partnerId, memberId) => {
    await store.endSessions(tx, partnerId, memberId, null)
    await store.deleteFactors(tx, partnerId, memberId)
    await store.deleteDevices(tx, partnerId, memberId)
    await store.deleteForms(tx, partnerId, memberId)
  }
  const session: SignIn['session'] = async (token, by = 'person') => {
    const partnerId = linkPartnerId(token)
    if (partnerId === undefined) return undefined
    const row = await store.findSession(db, partnerId, tokenHash(token), alive())
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
      const known = after(now, -rules.expiredSessionRetentionMs)
      await store.deleteEndedSessions(tx, partnerId, memberId, { usedAfter: after(known, -rules.idleMs), now: known })
      const times = { createdAt: now, lastUsedAt: now, expiresAt: after(now, rules.sessionMs) }
      const by = { factor, ip, userAgent: userAgent.slice(0, userAgentCharsMax) }
      await store.insertSession(tx, partnerId, {
        id: newId(),
        memberId,
        tokenHash: tokenHash(token),
        ...by,
        ...times,
      })
      if (device === undefined) return { token, isNewDevice: true }
      const used = { memberId, hash: rules.deviceHash(memberId, device) }
      const kept = { now, usedAfter: after(now, -rules.deviceMs), devicesMax: rules.devicesMax }
      return { token, isNewDevice: await store.recordDevice(tx, partnerId, used, kept) }
    },
    sessions: async (partnerId, memberId) =>
      (await store.listSessions(db, partnerId, memberId, alive())).map((row) => toSession(partnerId, row)),
    end: async (partnerId, memberId, id) => (await store.endSession(db, partnerId, memberId, id)) === 1,
    endAll: async (tx, partnerId, memberId) => void (await store.endSessions(tx, partnerId, memberId, null)),
    endOthers: (partnerId, memberId, keptId) => store.endSessions(db, partnerId, memberId, keptId),
    holdSession: store.holdSession,
    forget: async (tx, partnerId, memberId) => {
      await forgetRemoved(tx, partnerId, memberId)
      await store.forgetIdentities(tx, partnerId, memberId)
    },
    forgetRemoved,
    passwordSince: store.passwordSince,
    hasPasskey: async (tx, partnerId, memberId, credential) => {
      const answer = parsePasskeyAnswer(credential)
      const passkey = answer && (await store.findPasskey(tx, partnerId, answer.credentialId))
      return passkey?.memberId === memberId
    },
    factorsOf: store.listFactors,
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
      await store.replaceToken(db, partnerId, sessionId, tokenHash(token))
      return token
    },
  }
}

const userAgentCharsMax = 400

const toSession = (partnerId: string, { tokenHash: _hash, ...row }: store.SessionRow): Session => ({
  partnerId,
  ...row,
})

function createEnrolment({ key, site, clock, sealer }: KeyedDeps): Pick<SignIn, 'enrolment' | 'prove' | 'enrol'> {
  return {
    enrolment: async (invited) => {
      const totpSecret = rules.deriveTotpSecret(key, invited.seed)
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
      const totpSecret = rules.deriveTotpSecret(key, invited.seed)
      const step = rules.findCodeStep(totpSecret, given.code.replaceAll(/\s/g, ''), clock.now(), 0n)
      if (step === undefined)
        throw refuseField({
          pointer: '/code',
          code: 'invalid_value',
          message: 'is not the current code of the authenticator app',
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
      const codes = Array.from({ length: rules.recoveryCodeCount }, () =>
        rules.formatRecoveryCode(randomBytes(recoveryRandomBytes)),
      )
      const hashes = codes.map((code) => rules.recoveryHash(memberId, code))
      await store.setRecoveryCodes(tx, partnerId, memberId, hashes)
      return codes
    },
  }
}

/** More bytes than a code has letters, because some bytes do not give a letter. */
const recoveryRandomBytes = 32

function createProofs(deps: KeyedDeps): Pick<SignIn, 'passkeyOptions' | 'verifyPasskey' | 'verifyPassword'> {
  const { db, key, site, clock, sealer } = deps
  return {
    passkeyOptions: (partnerId) => {
      const until = after(clock.now(), rules.challengeMs)
      return passkeyRequestOptions(site, rules.newChallenge(key, partnerId, randomBytes(16), until))
    },
    verifyPasskey: async (partnerId, credential) => {
      const answer = parsePasskeyAnswer(credential)
      const now = clock.now()
      const expiresAt = answer && rules.verifyChallenge(key, partnerId, answer.challenge, now)
      if (answer === undefined || expiresAt === undefined) return undefined
      const passkey = await store.findPasskey(db, partnerId, answer.credentialId)
      const use = passkey && (await verifyPasskeyAnswer(site, answer, passkey))
      if (passkey === undefined || use === undefined) return undefined
      if (answer.memberId !== undefined && answer.memberId !== passkey.memberId) return undefined
      return db.transaction(async (tx) => {
        if (!(await store.recordChallengeAnswer(tx, partnerId, answer.challenge, { expiresAt, now }))) return undefined
        await store.recordPasskeyUse(tx, partnerId, { id: passkey.id, ...use, now })
        return passkey.memberId
      })
    },
    verifyPassword: async (partnerId, memberId, { password, code }) => {
      const now = clock.now()
      const row =
        memberId === undefined ? undefined : await store.beginAttempt(db, partnerId, memberId, rules.attemptLimit(now))
      const matches = await isPasswordCorrect(password, row?.hash)
      if (memberId === undefined || row === undefined) return 'refused'
      const failed = rules.isLastAttempt(row.failures) ? 'blocked' : 'refused'
      if (!matches) return failed
      const recovery = rules.readRecoveryCode(code)
      if (recovery !== undefined) {
        const hash = rules.recoveryHash(memberId, recovery)
        const isUsed = await db.transaction(
          async (tx) =>
            (await store.useRecoveryCode(tx, partnerId, memberId, hash, now)) &&
            (await store.recordSuccessfulAttempt(tx, partnerId, memberId, null)),
        )
        return isUsed ? 'recovery code' : failed
      }
      const secret = sealer.open(row.totpSealed, totpContext(partnerId, memberId))
      const step = rules.findCodeStep(secret, code.replaceAll(/\s/g, ''), now, row.totpStep)
      const isRight = step !== undefined && (await store.recordSuccessfulAttempt(db, partnerId, memberId, step))
      return isRight ? 'code' : failed
    },
  }
}

// Confirmations: a signed-in person proves a factor again for a text on the page, such as a payout.

/** The proof that a person gives in a form. */
export type ConfirmationInput =
  | { readonly kind: 'passkey'; readonly credential: string }
  | { readonly kind: 'code'; readonly code: string }

/** A page that asks for a confirmation. Its nonce is part of the text, is answered once, and contains the expiry. */
type Prompt = { readonly nonce: string; readonly expiresAt: Date }

type PromptPurpose = 'approval' | 'factor'

export type Confirmations = {
  /** Creates the nonce of a page. An approval expires after two minutes, a new factor after ten. Does not write to the database. */
  readonly newPrompt: (partnerId: string, memberId: string, purpose: PromptPurpose) => Prompt
  /** Verifies the nonce of a form. Undefined: it was not issued for this person and purpose, or has expired. */
  readonly readPrompt: (
    partnerId: string,
    memberId: string,
    purpose: PromptPurpose,
    nonce: string,
  ) => Prompt | undefined
  /** Records that a page was answered. False: it was already answered. */
  readonly answer: (tx: Tx, partnerId: string, asked: Prompt) => Promise<boolean>
  /** Returns the JSON of PublicKeyCredentialRequestOptions with the text as challenge. Undefined: the person has no passkey. */
  readonly passkeyOptionsFor: (partnerId: string, memberId: string, text: string) => Promise<string | undefined>
  /**
   * Returns the evidence that the person confirmed the text. A person with a passkey must use it. Undefined: the answer
   * is wrong or expired, was used before, or is about another text. A wrong code counts as a failed attempt with the
   * password.
   */
  readonly confirm: (
    partnerId: string,
    memberId: string,
    asked: Prompt & { readonly text: string },
    given: ConfirmationInput,
  ) => Promise<SignedApproval | undefined>
}

function createConfirmations(deps: KeyedDeps): Confirmations {
  const { db, clock, key, site } = deps
  const promptScope = (partnerId: string, memberId: string, purpose: PromptPurpose) =>
    `${partnerId} ${purpose} ${memberId}`
  const answer: Confirmations['answer'] = (tx, partnerId, { nonce, expiresAt }) =>
    store.recordChallengeAnswer(tx, partnerId, Buffer.from(nonce, 'base64url'), { expiresAt, now: clock.now() })
  return {
    answer,
    newPrompt: (partnerId, memberId, purpose) => {
      const expiresAt = after(clock.now(), purpose === 'approval' ? rules.confirmationMs : rules.challengeMs)
      const nonce = rules.newChallenge(
        key,
        promptScope(partnerId, memberId, purpose),
        randomBytes(nonceRandomBytes),
        expiresAt,
      )
      return { nonce: Buffer.from(nonce).toString('base64url'), expiresAt }
    },
    readPrompt: (partnerId, memberId, purpose, nonce) => {
      const bytes = Buffer.from(nonce, 'base64url')
      const expiresAt = rules.verifyChallenge(key, promptScope(partnerId, memberId, purpose), bytes, clock.now())
      return expiresAt && { nonce: bytes.toString('base64url'), expiresAt }
    },
    passkeyOptionsFor: async (partnerId, memberId, text) => {
      const passkeys = await store.listPasskeys(db, partnerId, memberId)
      return passkeys.length === 0 ? undefined : confirmationOptions(site, passkeys, approvalChallenge(text))
    },
    confirm: async (partnerId, memberId, asked, given) => {
      const evidence =
        given.kind === 'passkey'
          ? await confirmByPasskey(deps, partnerId, memberId, { text: asked.text, credential: given.credential })
          : await confirmByCode(deps, partnerId, memberId, { text: asked.text, code: given.code })
      if (evidence === undefined) return undefined
      return (await answer(db, partnerId, asked)) ? evidence : undefined
    },
  }
}

const nonceRandomBytes = 16

async function confirmByPasskey(
  { db, clock, site }: KeyedDeps,
  partnerId: string,
  memberId: string,
  { text, credential }: { readonly text: string; readonly credential: string },
): Promise<SignedApproval | undefined> {
  const answer = parsePasskeyAnswer(credential)
  const challenge = approvalChallenge(text)
  if (answer === undefined || !answer.challenge.equals(challenge)) return undefined
  const passkey = await store.findPasskey(db, partnerId, answer.credentialId)
  if (passkey?.memberId !== memberId) return undefined
  const use = await verifyPasskeyAnswer(site, answer, passkey)
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

async function confirmByCode(
  { db, clock, sealer }: KeyedDeps,
  partnerId: string,
  memberId: string,
  { text, code }: { readonly text: string; readonly code: string },
): Promise<SignedApproval | undefined> {
  const now = clock.now()
  const passkeys = await store.listPasskeys(db, partnerId, memberId)
  if (passkeys.length > 0) return undefined
  const row = await store.beginAttempt(db, partnerId, memberId, rules.attemptLimit(now))
  if (row === undefined) return undefined
  const secret = sealer.open(row.totpSealed, totpContext(partnerId, memberId))
  const step = rules.findCodeStep(secret, code.replaceAll(/\s/g, ''), now, row.totpStep)
  if (step === undefined || !(await store.recordSuccessfulAttempt(db, partnerId, memberId, step))) return undefined
  return { snapshot: text, factor: 'code' }
}
