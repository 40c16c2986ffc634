/** How a person signs in: passkeys and password, changed after a sign-in of the last minutes. */
import { Refusal, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import type { Factors, Members } from '../../people/users/index.ts'
import { isRecentSignIn } from '../../people/sign-in/index.ts'
import { qrCode } from '../qr.ts'
import { accountPage, newPasswordPage } from './account-page.ts'
import { recoveryCodesPage } from './recovery-codes-page.ts'
import { clientOf, errorsOf, page, type Person, readForm, type Routes, seeOther, signInAgain } from './request.ts'
import { accountTexts } from './texts/account.ts'

type Handle = (request: PublicRequest, person: Person) => Promise<PublicAnswer>

export const accountRoutes: Routes = ({ factors, clock, members }, withPerson) => {
  const recent =
    (handle: Handle): PublicRoute['handle'] =>
    (request) =>
      withPerson(request, async (person) => {
        const isRecent = isRecentSignIn(person.session.createdAt, clock.now())
        return isRecent ? handle(request, person) : signInAgain(request, 'account')
      })
  const { show, showPassword } = createShow(factors, members)
  return [
    { method: 'GET', path: '/console/account', handle: recent((request, person) => show(request, person)) },
    {
      method: 'POST',
      path: '/console/account/passkey',
      handle: recent(async (request, person) => {
        const form = readForm(request)
        const t = accountTexts[person.view.language]
        try {
          const given = { kind: 'passkey', credential: form('credential') } as const
          await factors.add(person, form('nonce'), given, clientOf(request))
          return seeOther('../account?done=added')
        } catch (error) {
          return show(request, person, { error: hasField(error, '/nonce') ? t.pageOver : t.passkeyRefused })
        }
      }),
    },
    {
      method: 'POST',
      path: '/console/account/passkey/remove',
      handle: recent(async (request, person) => {
        try {
          await factors.removePasskey(person, readForm(request)('id'), clientOf(request))
          return seeOther('../../account?done=removed')
        } catch (error) {
          if (!hasField(error, '/id')) throw error
          return show(request, person, { error: accountTexts[person.view.language].lastFactor })
        }
      }),
    },
    {
      method: 'GET',
      path: '/console/account/password',
      handle: recent((request, person) => showPassword(request, person)),
    },
    {
      method: 'POST',
      path: '/console/account/password',
      handle: recent(async (request, person) => {
        const form = readForm(request)
        try {
          const given = { kind: 'password', password: form('password'), code: form('code') } as const
          const codes = await factors.add(person, form('nonce'), given, clientOf(request))
          return page(request, 200, recoveryCodesPage({ ...person.view, current: 'account' }, { codes }))
        } catch (error) {
          const isOver = hasField(error, '/nonce')
          const errors = isOver ? { form: accountTexts[person.view.language].pageOver } : errorsOf(person.view.t, error)
          return showPassword(request, person, form('nonce'), errors)
        }
      }),
    },
  ]
}

function createShow(factors: Factors, { singleSignOn }: Pick<Members, 'singleSignOn'>) {
  const show = async (request: PublicRequest, person: Person, said: { error?: string } = {}) => {
    const t = accountTexts[person.view.language]
    const { passkeyOptions, nonce } = await factors.enrolment(person)
    const done = new URLSearchParams(request.query).get('done')
    const confirmation = done === 'added' ? t.passkeyAdded : done === 'removed' ? t.passkeyRemoved : undefined
    const sso = await singleSignOn.connectedSince(person)
    const shown = { ...(await factors.of(person)), passkeyOptions, nonce, sso, ...said }
    const body = accountPage(
      { ...person.view, current: 'account' },
      { ...shown, ...(confirmation && { confirmation }) },
    )
    return page(request, said.error === undefined ? 200 : 400, body)
  }
  const showPassword = async (request: PublicRequest, person: Person, nonce?: string, errors?: object) => {
    const { view, user } = person
    const again = nonce === undefined ? undefined : await factors.enrolmentAgain(person, nonce)
    const enrolment = again ?? (await factors.enrolment(person))
    const totp = { secret: enrolment.totpSecret, qrSvg: qrCode(enrolment.totpUri, view.t.qrLabel) }
    const shown = { nonce: enrolment.nonce, email: user.email, totp, ...(errors && { errors }) }
    return page(request, errors === undefined ? 200 : 400, newPasswordPage({ ...view, current: 'account' }, shown))
  }
  return { show, showPassword }
}

/** Reports whether an error refuses this field. Throws every other error. */
function hasField(error: unknown, pointer: string): boolean {
  if (!(error instanceof Refusal)) throw error
  return error.errors.some((refused) => refused.pointer === pointer)
}
