/** The link of an invitation: the page with both ways to sign in, and what happens when one is chosen. */
import { type PublicAnswer, type PublicRequest, type PublicRoute, readLink, Refusal } from '../../kernel/api/index.ts'
import type { GivenFactor } from '../../people/sign-in/index.ts'
import { qrCode } from '../qr.ts'
import { joinPage } from './join-page.ts'
import { signOnError } from './single-sign-on.ts'
import { recoveryCodesPage } from './recovery-codes-page.ts'
import {
  browserOf,
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

export function joinRoutes(frame: Frame): readonly PublicRoute[] {
  const show = async (request: PublicRequest, token: string, errors: Readonly<Record<string, string>> = {}) => {
    const view = viewOf(frame, request)
    const invitation = await frame.members.openInvitation(token)
    const { totpSecret, totpUri, passkeyOptions, role: roleName, partnerId, ...shown } = invitation
    const sso = await frame.members.singleSignOn.isOn(partnerId)
    const totp = { secret: totpSecret, qrSvg: qrCode(totpUri, view.t.qrLabel) }
    const given = { ...shown, token, roleName, totp, passkeyOptions, errors, sso }
    const status = Object.keys(errors).length > 0 ? 400 : 200
    return page(request, status, joinPage(view, given), partnerCookieOf(readLink(token) ?? ''))
  }
  const choose = (way: 'passkey' | 'password', read: (form: Form) => GivenFactor): PublicRoute => ({
    method: 'POST',
    path: `/console/join/${way}`,
    handle: async (request): Promise<PublicAnswer> => {
      const form = readForm(request)
      const token = form('token')
      try {
        const browser = browserOf(request)
        const { token: session, recoveryCodes: codes } = await frame.members.join(token, read(form), browser)
        const cookies = signedInCookies(session, browser)
        if (codes.length === 0) return seeOther('../home', ...cookies)
        return page(request, 200, recoveryCodesPage(viewOf(frame, request), { codes }), ...cookies)
      } catch (error) {
        if (error instanceof Refusal && error.code === 'not_found') throw error
        const view = viewOf(frame, request)
        return show(request, token, signOnError(view, error) ?? errorsOf(view.t, error))
      }
    },
  })
  return [
    {
      method: 'GET',
      path: '/console/join',
      handle: (request) => show(request, new URLSearchParams(request.query).get('token') ?? ''),
    },
    choose('passkey', (form) => ({ kind: 'passkey', credential: form('credential') })),
    choose('password', (form) => ({ kind: 'password', password: form('password'), code: form('code') })),
  ]
}
