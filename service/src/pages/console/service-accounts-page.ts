/** The service accounts of a partner: the list, the page of one, and the page that shows a secret once. */
import type { Permission } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { listPage, type Listed } from './list-page.ts'
import { asking, badge, call, copyButton, field, message, openDialog, time } from './components.ts'
import { facts, identifier, optionsOf } from './lists.ts'
import { type Problems } from './payments-request.ts'
import { keyPair, limitFields, permissionFields } from './service-account-form.ts'
import { paymentTexts } from './texts/payments.ts'
import { fill } from '../language.ts'
import { serviceAccountTexts } from './texts/service-accounts.ts'
import { type ConsoleView, shell } from './view.ts'

export type ServiceAccountRow = {
  readonly serviceAccountId: string
  readonly name: string
  readonly apiKey: string
  readonly permissions: readonly string[]
  readonly allowedAddresses: readonly string[]
  readonly status: 'Active' | 'Expired' | 'Revoked'
  readonly impersonation: boolean
  readonly issuedByFullName: string | null
  readonly replaces: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
}

const createCall = `POST /v1/service-accounts
{ "name": "Payroll", "permissions": ["payouts:read", "payouts:write"], "publicKeyPem": "-----BEGIN PUBLIC KEY-----…" }`

const tones = { Active: 'good', Expired: 'neutral', Revoked: 'neutral' } as const

const statusBadge = (view: ConsoleView, status: ServiceAccountRow['status']): Html =>
  badge(tones[status], serviceAccountTexts[view.language].statuses[status])

export function serviceAccountsPage(
  view: ConsoleView,
  { rows, mayWrite, ...shown }: Listed<ServiceAccountRow> & { readonly mayWrite: boolean },
): string {
  const s = serviceAccountTexts[view.language]
  return listPage(view, shown, {
    title: s.title,
    path: 'service-accounts',
    lead: s.lead,
    create: mayWrite && { text: s.newAccount, href: `${view.root}service-accounts/new` },
    filters: [{ name: 'status', label: s.status, options: optionsOf(s.statuses) }],
    columns: [[s.name, 'head'], s.status, s.permissions, s.lastUsed, s.expires],
    cells: rows.map((row) => [
      html`<a href="${view.root}service-accounts/${row.serviceAccountId}">${row.name}</a>`,
      statusBadge(view, row.status),
      row.impersonation ? s.staff : row.permissions.join(', '),
      row.lastUsedAt === null ? s.never : time(view, row.lastUsedAt),
      row.expiresAt === null ? s.noEnd : time(view, row.expiresAt),
    ]),
    none: { title: s.empty, text: s.emptyText, more: call(view, createCall, s.call) },
  })
}

type One = {
  readonly account: ServiceAccountRow
  readonly mayWrite: boolean
  /** The permissions of the person, who gives no others. */
  readonly held: readonly Permission[]
  readonly idempotencyKey: string
  /** Texts that were typed in a form that was refused. */
  readonly typed: Readonly<
    Partial<Record<'name' | 'allowedAddresses' | 'expiresOn' | 'publicKeyPem' | 'overlapHours', string>>
  >
  /** Boxes that were checked in a form that was refused. */
  readonly chosen?: readonly string[] | undefined
  readonly problems: Problems
  readonly done?: 'changed' | 'revokedNow' | undefined
}

export function serviceAccountPage(view: ConsoleView, one: One): string {
  const s = serviceAccountTexts[view.language]
  const { account, problems, done } = one
  const canChange = one.mayWrite && account.status === 'Active'
  const at = (date: Date | null) => (date === null ? undefined : time(view, date))
  const isOwn = canChange && !account.impersonation
  return shell(view, {
    title: account.name,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', s[done])}
      <h1>${account.name}</h1>
      <p>${statusBadge(view, account.status)}</p>
      ${account.impersonation && message('neutral', s.impersonation)}
      ${facts([
        [s.apiKey, identifier(view, account.apiKey, s.apiKey)],
        [s.permissions, account.permissions.join(', ')],
        [s.addresses, account.allowedAddresses.length === 0 ? s.anyAddress : account.allowedAddresses.join(', ')],
        [s.lastUsed, at(account.lastUsedAt) ?? s.never],
        [s.created, time(view, account.createdAt)],
        [s.issuedBy, account.issuedByFullName ?? s.byOperator],
        [s.expires, at(account.expiresAt) ?? s.noEnd],
        [s.revoked, at(account.revokedAt)],
        [s.replaces, account.replaces === null ? undefined : replaced(view, account.replaces)],
      ])}
      ${isOwn && change(view, one)} ${isOwn && rotation(view, one)} ${canChange && revocation(view, account)}`,
  })
}

const replaced = (view: ConsoleView, id: string): Html => html`<a href="${view.root}service-accounts/${id}">${id}</a>`

function change(view: ConsoleView, { account, held, typed, chosen = account.permissions, problems }: One): Html {
  const s = serviceAccountTexts[view.language]
  const p = paymentTexts[view.language]
  return html`<section aria-labelledby="change-title">
    <h2 id="change-title">${s.change}</h2>
    <form class="card" method="post" action="${view.root}service-accounts/${account.serviceAccountId}/change">
      ${field({
        ...{ id: 'name', name: 'name', label: s.name, help: s.nameHelp, error: problems['name'] },
        value: typed.name ?? account.name,
        more: html`autocomplete="off" maxlength="140"`,
      })}
      ${permissionFields(view, { held, chosen, error: problems['permissions'] })}
      ${limitFields(view, {
        allowedAddresses: typed.allowedAddresses ?? account.allowedAddresses.join(', '),
        expiresOn: typed.expiresOn ?? account.expiresAt?.toISOString().slice(0, 10) ?? '',
        problems,
        label: (label) => fill(p.optional, { label }),
      })}
      <button type="submit" class="primary">${s.saveChange}</button>
    </form>
  </section>`
}

function rotation(view: ConsoleView, { account, typed, problems, idempotencyKey }: One): Html {
  const s = serviceAccountTexts[view.language]
  const p = paymentTexts[view.language]
  return html`<section aria-labelledby="rotate-title">
    <h2 id="rotate-title">${s.rotate}</h2>
    <p>${s.rotateText}</p>
    ${keyPair(view, {
      action: `${view.root}service-accounts/${account.serviceAccountId}/rotate`,
      idempotencyKey,
      fields: field({
        ...{ id: 'overlapHours', name: 'overlapHours', label: fill(p.optional, { label: s.overlap }) },
        ...{ help: s.overlapHelp, value: typed.overlapHours ?? '', error: problems['overlapHours'], optional: true },
        more: html`autocomplete="off" inputmode="numeric" maxlength="4"`,
      }),
      publicKeyPem: typed.publicKeyPem ?? '',
      problems,
      texts: { make: s.makeAndRotate, submit: s.rotateWith },
    })}
  </section>`
}

function revocation(view: ConsoleView, { serviceAccountId, name }: ServiceAccountRow): Html {
  const s = serviceAccountTexts[view.language]
  const id = 'revoke'
  return html`<p class="buttons">${openDialog({ id, label: s.revoke, about: name, tone: 'danger' })}</p>
    ${asking({
      ...{ id, title: s.revokeTitle, action: `${view.root}service-accounts/${serviceAccountId}/revoke` },
      about: html`<p><strong>${name}</strong></p>`,
      ...{ effects: [s.revokeText], submit: s.revoke, cancel: view.t.cancel },
    })}`
}

/** Shows key and secret of an account whose key pair was made elsewhere. */
export function issuedPage(
  view: ConsoleView,
  { id, apiKey, apiSecret }: { readonly id: string; readonly apiKey: string; readonly apiSecret: string },
): string {
  const s = serviceAccountTexts[view.language]
  return shell(view, {
    title: s.issued,
    card: true,
    main: html`<h1>${s.issued}</h1>
      <p>${s.issuedOnce}</p>
      ${secret(view, s.apiKey, apiKey)} ${secret(view, s.apiSecret, apiSecret)}
      <p class="foot"><a href="${view.root}service-accounts/${id}">${s.open}</a></p>`,
  })
}

const secret = (view: ConsoleView, label: string, text: string): Html =>
  html`<h2>${label}</h2>
    <div class="call" role="group" aria-label="${label}">
      <pre tabindex="0"><code>${text}</code></pre>
      ${copyButton(view, text, label)}
    </div>`
