/** The page on which an Admin sets the provider of single sign-on, and proves the domain of the team. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, choices, field, hiddenField, message, openDialog, time } from './components.ts'
import { facts, whole } from './lists.ts'
import { paymentTexts } from './texts/payments.ts'
import { signOnTexts } from './texts/single-sign-on.ts'
import { type ConsoleView, type RoleName, shell } from './view.ts'

export const ssoRoles = ['Admin', 'Operator', 'Developer'] as const satisfies readonly RoleName[]
export const ssoFields = [
  'issuer',
  'clientId',
  'clientSecret',
  'emailDomain',
  'roleClaim',
  'required',
  ...ssoRoles,
] as const
export type SsoField = (typeof ssoFields)[number]

type Waiting = {
  readonly id: string
  readonly by: string
  readonly isOwn: boolean
  readonly expiresAt: Date
  readonly issuer: string
  readonly clientId: string
  readonly emailDomain: string
  readonly roleClaim: string | null
  readonly roles: Readonly<Partial<Record<RoleName, readonly string[]>>> | null
  readonly required: boolean
  readonly hasNewSecret: boolean
}

type Shown = {
  /** Absent: no provider is set. */
  readonly current?: {
    readonly redirectUri: string
    readonly domainRecord: { readonly name: string; readonly value: string }
    readonly domainProvedAt: Date | null
  }
  /** A change that waits for a second Admin. */
  readonly waiting?: Waiting | undefined
  /** The values of the form. */
  readonly values: Readonly<Partial<Record<SsoField, string>>>
  readonly may: { readonly write: boolean }
  /** Problems by field; any other key is about the whole page. */
  readonly errors?: Readonly<Record<string, string>> | undefined
  readonly confirmation?: string | undefined
}

export function ssoPage(view: ConsoleView, shown: Shown): string {
  const s = signOnTexts[view.language]
  const { current, may, errors = {}, confirmation } = shown
  const fields: readonly string[] = ssoFields
  const problems = Object.fromEntries(
    Object.entries(errors).map(([name, text]) => [may.write && fields.includes(name) ? `sso-${name}` : 'form', text]),
  )
  return shell(view, {
    title: s.title,
    wide: true,
    problems,
    main: html`${confirmation !== undefined && message('good', confirmation)}
      <h1>${s.title}</h1>
      <p class="lead">${s.settings.lead}</p>
      ${shown.waiting && change(view, shown.waiting, may.write)} ${state(view, current)}
      ${current?.domainProvedAt === null && proof(view, current.domainRecord, may.write)} ${provider(view, shown)}`,
  })
}

/** Shows a second Admin every part of a change, because the provider decides who is an Admin. */
function change(view: ConsoleView, waiting: Waiting, may: boolean): Html {
  const { settings } = signOnTexts[view.language]
  const { id, by, isOwn, expiresAt, roles, required } = waiting
  const form = (act: 'confirm' | 'reject', label: string, look: 'primary' | 'danger') =>
    html`<form method="post" action="${view.root}team/single-sign-on/${act}">
      ${hiddenField('id', id)}<button type="submit" class="${look}">${label}</button>
    </form>`
  return html`<section aria-labelledby="change-title" class="card">
    <h2 id="change-title">${settings.change}</h2>
    <p>${isOwn ? settings.changeOwn : fill(settings.changeText, { name: by })} ${time(view, expiresAt)}</p>
    ${facts([
      [settings.issuer, waiting.issuer],
      [settings.client, waiting.clientId],
      [settings.domain, waiting.emailDomain],
      [settings.roleClaim, waiting.roleClaim ?? '–'],
      ...ssoRoles.map((role) => [fill(settings.valuesOf, { role }), (roles?.[role] ?? []).join(', ') || '–'] as const),
      [settings.whether, required ? settings.required : settings.optional],
      ...(waiting.hasNewSecret ? [[settings.secret, settings.changeSecret] as const] : []),
    ])}
    ${may && !isOwn && form('confirm', settings.confirm, 'primary')}
    ${may && form('reject', isOwn ? settings.withdraw : settings.reject, 'danger')}
  </section>`
}

/** The DNS record that proves the domain. */
function proof(view: ConsoleView, { name, value }: NonNullable<Shown['current']>['domainRecord'], may: boolean): Html {
  const { settings } = signOnTexts[view.language]
  return html`<section aria-labelledby="record-title">
    <h2 id="record-title">${settings.record}</h2>
    <p>${settings.proveText}</p>
    ${facts([
      [settings.recordName, whole(view, name, settings.recordName)],
      [settings.recordValue, whole(view, value, settings.recordValue)],
    ])}
    ${
      may &&
      html`<form method="post" action="${view.root}team/single-sign-on/domain">
        <button type="submit" class="primary">${settings.prove}</button>
      </form>`
    }
  </section>`
}

function provider(view: ConsoleView, shown: Shown): Html {
  const { settings } = signOnTexts[view.language]
  const { current, may } = shown
  return html`<section aria-labelledby="provider-title">
    <h2 id="provider-title">${settings.provider}</h2>
    ${current !== undefined && facts([[settings.redirect, whole(view, current.redirectUri, settings.redirect)]])}
    ${may.write ? form(view, shown) : html`<p>${settings.readOnly}</p>`}
    ${may.write && current !== undefined && removal(view)}
  </section>`
}

function state(view: ConsoleView, current: Shown['current']): Html {
  const { settings } = signOnTexts[view.language]
  if (current === undefined) return message('neutral', settings.none)
  if (current.domainProvedAt === null) return message('warning', settings.waits)
  const [before = '', after = ''] = settings.on.split('{time}')
  return html`<p>${before}${time(view, current.domainProvedAt)}${after}</p>`
}

function form(view: ConsoleView, { values, errors = {}, current }: Shown): Html {
  const { settings } = signOnTexts[view.language]
  const { optional } = paymentTexts[view.language]
  const needed: readonly SsoField[] =
    current === undefined
      ? ['issuer', 'clientId', 'clientSecret', 'emailDomain']
      : ['issuer', 'clientId', 'emailDomain']
  const input = (name: SsoField, label: string, help: string | undefined, more: Html, type?: 'password') =>
    field({
      ...{ id: `sso-${name}`, name, more, optional: !needed.includes(name) },
      label: needed.includes(name) || name === 'clientSecret' ? label : fill(optional, { label }),
      ...(errors[name] === undefined ? {} : { error: errors[name] }),
      type: type ?? 'text',
      ...(help === undefined ? {} : { help }),
      ...(name === 'clientSecret' ? {} : { value: values[name] ?? '' }),
    })
  const plain = html`autocomplete="off" spellcheck="false" maxlength="500"`
  const kept = current === undefined ? settings.secretHelp : `${settings.secretHelp} ${settings.secretKept}`
  return html`<form method="post" action="${view.root}team/single-sign-on" class="card">
    ${input('issuer', settings.issuer, settings.issuerHelp, html`autocomplete="off" inputmode="url" maxlength="2000"`)}
    ${input('clientId', settings.client, undefined, plain)}
    ${input('clientSecret', settings.secret, kept, html`autocomplete="new-password" maxlength="1000"`, 'password')}
    ${input('emailDomain', settings.domain, settings.domainHelp, plain)}
    ${input('roleClaim', settings.roleClaim, settings.roleClaimHelp, plain)}
    ${ssoRoles.map((role) => input(role, fill(settings.valuesOf, { role }), settings.valuesHelp, plain))}
    ${choices({
      ...{ id: 'sso-required', name: 'required', legend: settings.whether, chosen: values.required ?? 'no' },
      error: errors['required'],
      options: [
        { value: 'no', label: settings.optional, help: settings.notRequired },
        { value: 'yes', label: settings.required, help: settings.requiredText },
      ],
    })}
    <button type="submit" class="primary">${settings.save}</button>
  </form>`
}

function removal(view: ConsoleView): Html {
  const { settings } = signOnTexts[view.language]
  const id = 'remove-sso'
  return html`<p class="buttons">${openDialog({ id, label: settings.remove, about: '', tone: 'danger' })}</p>
    ${asking({
      ...{ id, title: settings.remove, action: `${view.root}team/single-sign-on/remove` },
      about: html`<p>${settings.removeText}</p>`,
      ...{ submit: settings.remove, look: 'danger', cancel: view.t.cancel },
    })}`
}
