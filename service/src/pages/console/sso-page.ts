/** The page on which an Admin sets the provider of single sign-on, and proves the domain of the team. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { choices, dialog, dialogButtons, errorSummary, field, message, openDialog, time } from './components.ts'
import { identifier } from './lists.ts'
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

type Shown = {
  /** Absent: no provider is set. */
  readonly current?: {
    readonly redirectUri: string
    readonly domainRecord: { readonly name: string; readonly value: string }
    readonly domainProvedAt: Date | null
  }
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
  const problems = Object.entries(errors).map(([name, text]) =>
    may.write && fields.includes(name) ? { text, field: `sso-${name}` } : { text },
  )
  return shell(view, {
    title: s.title,
    wide: true,
    hasErrors: problems.length > 0,
    main: html`${errorSummary(view, problems)} ${confirmation !== undefined && message('good', confirmation)}
      <h1>${s.title}</h1>
      <p class="lead">${s.settings.lead}</p>
      ${current === undefined ? message('neutral', s.settings.none) : state(view, current, may.write)}
      ${may.write ? form(view, shown) : html`<p>${s.settings.readOnly}</p>`}
      ${may.write && current !== undefined && removal(view)}`,
  })
}

function state(view: ConsoleView, current: NonNullable<Shown['current']>, mayWrite: boolean): Html {
  const { settings } = signOnTexts[view.language]
  const { redirectUri, domainRecord, domainProvedAt } = current
  const [before = '', after = ''] = settings.on.split('{time}')
  return html`<section aria-labelledby="state-title">
    <h2 id="state-title">${settings.provider}</h2>
    ${
      domainProvedAt === null
        ? message('warning', settings.waits)
        : html`<p>${before}${time(view, domainProvedAt)}${after}</p>`
    }
    <dl class="facts">
      <div>
        <dt>${settings.redirect}</dt>
        <dd>${identifier(view, redirectUri, settings.redirect)}</dd>
      </div>
    </dl>
    ${
      domainProvedAt === null &&
      html`<h3>${settings.record}</h3>
        <p>${settings.proveText}</p>
        <dl class="facts">
          <div>
            <dt>${settings.recordName}</dt>
            <dd>${identifier(view, domainRecord.name, settings.recordName)}</dd>
          </div>
          <div>
            <dt>${settings.recordValue}</dt>
            <dd>${identifier(view, domainRecord.value, settings.recordValue)}</dd>
          </div>
        </dl>
        ${
          mayWrite &&
          html`<form method="post" action="${view.root}team/single-sign-on/domain">
            <button type="submit" class="primary">${settings.prove}</button>
          </form>`
        }`
    }
  </section>`
}

function form(view: ConsoleView, { values, errors = {}, current }: Shown): Html {
  const { settings } = signOnTexts[view.language]
  const input = (name: SsoField, label: string, help: string | undefined, more: Html, type?: 'password') =>
    field({
      ...{ id: `sso-${name}`, name, label, more },
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
    ${dialog({
      ...{ id, title: settings.remove },
      body: html`<p>${settings.removeText}</p>
        <form method="post" action="${view.root}team/single-sign-on/remove">
          ${dialogButtons(id, html`<button type="submit" class="danger">${settings.remove}</button>`, view.t.cancel)}
        </form>`,
    })}`
}
