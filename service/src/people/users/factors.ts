/** The operations with which members change how they sign in. Each change is audited and mailed to the member. */
import type { MailQueue } from '../../mail/index.ts'
import { refuseField } from '../../kernel/api/index.ts'
import type { Client, Enrolment, FactorInput, SignIn } from '../sign-in/index.ts'
import type { MembersDeps, SignedInUser } from './member-deps.ts'
import { changeMail, type SignInChange } from './mails.ts'

export type Factors = {
  /** Lists how the member signs in. */
  readonly list: (signed: SignedInUser) => ReturnType<SignIn['factorList']>
  /** Returns the values of a page that adds a passkey or sets a password, with a nonce. */
  readonly enrolment: (signed: SignedInUser) => Promise<Enrolment & { readonly nonce: string }>
  /** Returns the same values again after a refused form. Undefined: the page has expired. */
  readonly enrolmentAgain: (
    signed: SignedInUser,
    nonce: string,
  ) => Promise<(Enrolment & { readonly nonce: string }) | undefined>
  /**
   * Adds a passkey, or sets the password and returns its recovery codes. Refuses: validation_failed (/password, /code, /credential,
   * or /nonce: the page was answered before, or it or the session has expired).
   */
  readonly add: (signed: SignedInUser, nonce: string, given: FactorInput, client: Client) => Promise<readonly string[]>
  /** Removes a passkey. Refuses: validation_failed (/id: there is no such passkey, or it is the last factor). */
  readonly removePasskey: (signed: SignedInUser, id: string, client: Client) => Promise<void>
}

type FactorsDeps = Pick<MembersDeps, 'db' | 'clock' | 'signIn' | 'audit'> & {
  readonly mail: Pick<MailQueue, 'enqueue'>
}

export function createFactors({ db, clock, signIn, mail, audit }: FactorsDeps): Factors {
  const enrolmentOf = (signed: SignedInUser, nonce: string) => {
    const { user, partnerName } = signed
    const { email, fullName } = user
    return { email, fullName, partnerName, memberId: user.id, seed: Buffer.from(nonce, 'base64url') }
  }
  const pageValues = async (signed: SignedInUser, nonce: string) => ({
    ...(await signIn.enrolment(enrolmentOf(signed, nonce))),
    nonce,
  })
  const recordChange = async (
    tx: Parameters<MailQueue['enqueue']>[0],
    { session: { partnerId }, user }: SignedInUser,
    change: SignInChange,
    { ip }: Client,
  ) => {
    const actor = { kind: 'partner', id: user.id, name: user.fullName, ip } as const
    audit.append(tx, [{ partnerId, actor, action: 'changeSignIn', subject: { userId: user.id }, details: { change } }])
    await mail.enqueue(tx, partnerId, [changeMail(user, change, { at: clock.now(), ip })])
  }
  return {
    list: ({ session: { partnerId }, user }) => signIn.factorList(db, partnerId, user.id),
    enrolment: (signed) => {
      const { partnerId } = signed.session
      return pageValues(signed, signIn.newPrompt(partnerId, signed.user.id, 'factor').nonce)
    },
    enrolmentAgain: async (signed, nonce) => {
      const asked = signIn.readPrompt(signed.session.partnerId, signed.user.id, 'factor', nonce)
      return asked && pageValues(signed, asked.nonce)
    },
    add: async (signed, nonce, given, client) => {
      const { partnerId } = signed.session
      const { id } = signed.user
      const late = refuseField({
        pointer: '/nonce',
        code: 'invalid_value',
        message: 'has expired: open the page again',
      })
      const asked = signIn.readPrompt(partnerId, id, 'factor', nonce)
      if (asked === undefined) throw late
      const factor = await signIn.prove(enrolmentOf(signed, asked.nonce), given)
      return db.transaction(async (tx) => {
        if (!(await signIn.answer(tx, partnerId, asked))) throw late
        // A reset that has ended the session meanwhile must not leave a factor of it.
        if (!(await signIn.holdSession(tx, signed.session))) throw late
        const codes = await signIn.enrol(tx, partnerId, id, factor)
        await recordChange(tx, signed, factor.kind === 'passkey' ? 'passkey added' : 'password set', client)
        return codes
      })
    },
    removePasskey: (signed, id, client) =>
      db.transaction(async (tx) => {
        const { partnerId } = signed.session
        const isRemoved = await signIn.removePasskey(tx, partnerId, signed.user.id, id)
        if (!isRemoved)
          throw refuseField({
            pointer: '/id',
            code: 'invalid_value',
            message: 'is the last way to sign in, or does not exist',
          })
        await recordChange(tx, signed, 'passkey removed', client)
      }),
  }
}
