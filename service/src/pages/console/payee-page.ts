/** The page of one payee: account, verification of the name, its payouts, and the forms that change or delete it. */
import type { PayeeAddress } from '@partner-payments/wire'
import { addressText } from '../../rails/index.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, field, message, openDialog, time } from './components.ts'
import { account, facts, identifier } from './lists.ts'
import { type AddressDraft, accountTypeText, addressForm, type PayeeRow } from './payees-page.ts'
import { type Verification, verificationPart } from './payee-verification.ts'
import { linkOf, type Problems } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

type Payee = PayeeRow & {
  readonly bic?: string | undefined
  readonly vasp?: string | undefined
  readonly country?: string | undefined
  readonly address?: PayeeAddress | undefined
  readonly missingFields?: readonly string[] | undefined
  readonly customer?: { readonly id: string; readonly href?: string | undefined } | undefined
  readonly updatedAt: Date
  /** Absent: the present name was not verified. */
  readonly verification?: Verification | undefined
  readonly may: { readonly write: boolean; readonly pay: boolean; readonly readPayouts: boolean }
  readonly done?: 'saved' | 'changed' | undefined
  /** Values of a refused form. */
  readonly typed?: (AddressDraft & { readonly name: string; readonly alias: string }) | undefined
  readonly problems: Problems
}

const deleteId = 'delete-payee'

export function payeePage(view: ConsoleView, payee: Payee): string {
  const p = paymentTexts[view.language]
  const { id, name, isWallet, may, done, problems } = payee
  const pay = linkOf(`${view.root}payouts/new`, { beneficiaryId: id })
  return shell(view, {
    title: name,
    problems,
    main: html`${done === 'saved' && message('good', p.payeeSaved)} ${done === 'changed' && message('good', p.saved)}
      <div class="heading">
        <h1>${name}</h1>
        ${may.pay && !isWallet && html`<a class="button primary" href="${pay}">${p.newPayout}</a>`}
      </div>
      ${payee.missingFields !== undefined && message('bad', fill(p.payeeIncomplete, { fields: payee.missingFields.join(', ') }))}
      ${details(view, payee)}
      <section aria-labelledby="verification-title">
        <h2 id="verification-title">${p.verification}</h2>
        ${verificationSection(view, payee)}
      </section>
      ${
        may.readPayouts &&
        html`<p class="more">
          <a class="button" href="${linkOf(`${view.root}payouts`, { beneficiaryId: id })}">${p.payoutsOfPayee}</a>
        </p>`
      }
      ${may.write && html`${changeForm(view, payee)} ${deletion(view, payee)}`}`,
  })
}

function details(view: ConsoleView, payee: Payee): Html {
  const p = paymentTexts[view.language]
  const { customer } = payee
  const customerId = customer && identifier(view, customer.id, p.customerId)
  return facts([
    [p.account, account(view, payee.account)],
    [p.currency, payee.currency],
    [p.accountType, accountTypeText(p, payee.accountType)],
    [p.bank, payee.bic ?? payee.vasp],
    [p.address, payee.address && addressText(payee.address)],
    [p.alias, payee.alias],
    [p.customer, customer?.href === undefined ? customerId : html`<a href="${customer.href}">${customer.id}</a>`],
    [p.id, identifier(view, payee.id, p.id)],
    [p.created, time(view, payee.createdAt)],
    [p.updated, time(view, payee.updatedAt)],
  ])
}

function verificationSection(view: ConsoleView, { id, isVerifiable, verification, may }: Payee): Html {
  const p = paymentTexts[view.language]
  if (!isVerifiable) return html`<p>${p.walletUnverified}</p>`
  return html`${verification === undefined ? html`<p>${p.verificationNone}</p>` : verificationPart(view, verification)}
  ${
    may.write &&
    html`<form method="post" action="${view.root}payees/${id}/verify" class="more">
      <button type="submit">${p.verifyNow}</button>
    </form>`
  }`
}

const noAddress = { streetName: '', buildingNumber: '', postalCode: '', city: '', state: '', country: '' }

function changeForm(view: ConsoleView, { id, name, alias = '', address, isWallet, typed, problems }: Payee): Html {
  const p = paymentTexts[view.language]
  const more = (charsMax: string) => html`autocomplete="off" maxlength="${charsMax}"`
  return html`<section class="card" aria-labelledby="edit-title">
    <h2 id="edit-title">${p.editPayee}</h2>
    <p>${p.editPayeeText}</p>
    <form method="post" action="${view.root}payees/${id}/change">
      ${field({
        ...{ id: 'name', name: 'name', value: typed?.name ?? name, error: problems['name'], more: more('140') },
        label: p.payeeName,
        help: p.payeeNameHelp,
      })}
      ${field({
        ...{ id: 'alias', name: 'alias', value: typed?.alias ?? alias, error: problems['alias'], more: more('70') },
        label: alias === '' ? fill(p.optional, { label: p.alias }) : p.alias,
        help: p.aliasHelp,
        // The operation changes a short name, and does not remove one.
        optional: alias === '',
      })}
      ${!isWallet && addressForm(view, typed ?? { ...noAddress, ...address }, problems)}
      <button type="submit" class="primary">${p.save}</button>
    </form>
  </section>`
}

function deletion(view: ConsoleView, { id, name }: Payee): Html {
  const p = paymentTexts[view.language]
  return html`<p class="buttons">${openDialog({ id: deleteId, label: p.deletePayee, about: name, tone: 'danger' })}</p>
    ${asking({
      ...{ id: deleteId, title: fill(p.deletePayeeTitle, { name }), action: `${view.root}payees/${id}/delete` },
      effects: [p.deletePayeeEffect, p.deletePayeePayouts],
      ...{ submit: p.deletePayee, cancel: view.t.cancel },
    })}`
}
