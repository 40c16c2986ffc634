/** Confirmations: a person who is signed in proves a factor again over a text that was shown, such as a payout. */
import { challengeOf, type SignedApproval } from '@partner-payments/wire'
import { after, type Clock, randomBytes, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { confirmationOptions, readAnswer, type Site, spkiOf, verifyAnswer } from './passkeys.ts'
import * as rules from './rules.ts'
import { totpContext } from './sealed.ts'
import * as store from './store.ts'

/** How the person confirms, as the form has it. */
export type GivenConfirmation =
  | { readonly kind: 'passkey'; readonly credential: string }
  | { readonly kind: 'code'; readonly code: string }

/** A page that asks for a confirmation. Its nonce is a part of the text, is answered once, and says until when. */
export type Asking = { readonly nonce: string; readonly expiresAt: Date }

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

export function createConfirmations(deps: Deps): Confirmations {
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
  const publicKey = await spkiOf(passkey.publicKey)
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
