/** The links of a recovery: the person sets a new way to sign in, or an Admin cancels the recovery. A link alone changes nothing. */
import { type PublicAnswer, type PublicRequest, type PublicRoute, readLink, Refusal } from '../../kernel/api/index.ts'
import type { GivenFactor } from '../../people/sign-in/index.ts'
import { qrCode } from '../qr.ts'
import { joinPage } from './join-page.ts'
import { consoleMessage } from './message-page.ts'
import { cancelRecoveryPage } from './recover-page.ts'
import { recoveryCodesPage } from './recovery-codes-page.ts'
import {
  browserOf,
  clientOf,
  errorsOf,
  type Form,
  type Frame,
  page,
  partnerCookieOf,
  readForm,
  seeOther,
  signedInCookies,
  viewOf,
} from './request.ts'
import { signOnError } from './single-sign-on.ts'

const tokenOf = ({ query }: PublicRequest) => new URLSearchParams(query).get('token') ?? ''

export function recoverRoutes(frame: Frame): readonly PublicRoute[] {
  const { recoveries } = frame.members
  const show = async (request: PublicRequest, token: string, errors: Readonly<Record<string, string>> = {}) => {
    const view = viewOf(frame, request)
    const { totpSecret, totpUri, role: roleName, begunByName, ...shown } = await recoveries.opened(token)
    const totp = { secret: totpSecret, qrSvg: qrCode(totpUri, view.t.qrLabel) }
    const given = { ...shown, token, roleName, totp, errors, invitedByName: begunByName, isRecovery: true }
    const status = Object.keys(errors).length > 0 ? 400 : 200
    return page(request, status, joinPage(view, given), partnerCookieOf(readLink(token) ?? ''))
  }
  const choose = (way: 'passkey' | 'password', read: (form: Form) => GivenFactor): PublicRoute => ({
    method: 'POST',
    path: `/console/recover/${way}`,
    handle: async (request): Promise<PublicAnswer> => {
      const form = readForm(request)
      try {
        const browser = browserOf(request)
        const { token, recoveryCodes: codes } = await recoveries.complete(form('token'), read(form), browser)
        const cookies = signedInCookies(token, browser)
        if (codes.length === 0) return seeOther('../home', ...cookies)
        return page(request, 200, recoveryCodesPage(viewOf(frame, request), { codes }), ...cookies)
      } catch (error) {
        if (error instanceof Refusal && error.code === 'not_found') throw error
        const view = viewOf(frame, request)
        return show(request, form('token'), signOnError(view, error) ?? errorsOf(view.t, error))
      }
    },
  })
  return [
    { method: 'GET', path: '/console/recover', handle: (request) => show(request, tokenOf(request)) },
    choose('passkey', (form) => ({ kind: 'passkey', credential: form('credential') })),
    choose('password', (form) => ({ kind: 'password', password: form('password'), code: form('code') })),
    {
      method: 'GET',
      path: '/console/recover/cancel',
      handle: async (request) => {
        const token = tokenOf(request)
        const shown = await recoveries.cancellable(token)
        return page(request, 200, cancelRecoveryPage(viewOf(frame, request), { ...shown, token }))
      },
    },
    {
      method: 'POST',
      path: '/console/recover/cancel',
      handle: async (request) => {
        await recoveries.cancel(readForm(request)('token'), clientOf(request))
        const view = viewOf(frame, request)
        return page(request, 200, consoleMessage(view, view.t.recoveryCancelled, view.t.recoveryCancelledText))
      },
    },
  ]
}
