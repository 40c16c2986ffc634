/** The form of a new service account, and the part of a form that makes a key pair in the browser. */
import { type Permission, tags } from '@partner-payments/wire'
import { fill } from '../language.ts'
import { html, type Html } from '../html.ts'
import { field, hiddenField } from './components.ts'
import { type Problems } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { serviceAccountTexts } from './texts/service-accounts.ts'
import { type ConsoleView, shell } from './view.ts'

/** The permissions of the person who gives. */
type Held = readonly Permission[]

export type AccountDraft = {
  readonly name: string
  readonly permissions: readonly string[]
  readonly allowedAddresses: string
  readonly expiresOn: string
  readonly publicKeyPem: string
  readonly idempotencyKey: string
}

export function newServiceAccountPage(
  view: ConsoleView,
  { draft, held, problems }: { readonly draft: AccountDraft; readonly held: Held; readonly problems: Problems },
): string {
  const s = serviceAccountTexts[view.language]
  const p = paymentTexts[view.language]
  return shell(view, {
    title: s.newAccount,
    problems,
    main: html`<h1>${s.newAccount}</h1>
      ${keyPair(view, {
        action: `${view.root}service-accounts/new`,
        idempotencyKey: draft.idempotencyKey,
        fields: html`${field({
          ...{ id: 'name', name: 'name', label: s.name, help: s.nameHelp, value: draft.name, error: problems['name'] },
          more: html`autocomplete="off" maxlength="140"`,
        })}
        ${permissionFields(view, { held, chosen: draft.permissions, error: problems['permissions'] })}
        ${limitFields(view, { ...draft, problems, label: (label) => fill(p.optional, { label }) })}`,
        publicKeyPem: draft.publicKeyPem,
        problems,
        texts: { make: s.makeKey, submit: s.create },
      })}
      <p class="foot"><a href="${view.root}service-accounts">${p.back}</a></p>`,
  })
}

type Choice = { readonly held: Held; readonly chosen: readonly string[]; readonly error: string | undefined }

/** Two boxes for each group. Only what the person has can be given. */
export function permissionFields(view: ConsoleView, { held, chosen, error }: Choice): Html {
  const s = serviceAccountTexts[view.language]
  const offered = tags.flatMap((tag) =>
    (['read', 'write'] as const)
      .map((access) => ({ tag, access, permission: `${tag}:${access}` as const }))
      .filter(({ permission }) => held.includes(permission)),
  )
  // The first box has the id that the error summary links to.
  const idOf = (permission: string) =>
    permission === offered[0]?.permission ? 'permissions' : `permissions-${permission.replace(':', '-')}`
  return html`<fieldset
    class="field${error !== undefined && ' wrong'}"
    aria-describedby="permissions-help${error !== undefined && ' permissions-error'}"
  >
    <legend>${s.permissions}</legend>
    <p class="help" id="permissions-help">${s.permissionsHelp} ${s.approvesNothing}</p>
    ${error !== undefined && html`<p class="error" id="permissions-error">${error}</p>`}
    <div class="grid">
      ${[...Map.groupBy(offered, ({ tag }) => tag)].map(
        ([tag, boxes]) =>
          html`<fieldset class="field">
            <legend>${s.groups[tag]}</legend>
            ${boxes.map(({ access, permission }) => {
              const id = idOf(permission)
              return html`<div class="choice">
                <input
                  type="checkbox"
                  id="${id}"
                  name="permissions"
                  value="${permission}"
                  ${chosen.includes(permission) && html` checked`}
                />
                <label for="${id}">${access === 'read' ? s.reads : s.writes}</label>
              </div>`
            })}
          </fieldset>`,
      )}
    </div>
  </fieldset>`
}

/** The fields that narrow an account: addresses and end. */
export function limitFields(
  view: ConsoleView,
  given: {
    readonly allowedAddresses: string
    readonly expiresOn: string
    readonly problems: Problems
    readonly label: (label: string) => string
  },
): Html {
  const s = serviceAccountTexts[view.language]
  const { allowedAddresses, expiresOn, problems, label } = given
  return html`${field({
    ...{ id: 'allowedAddresses', name: 'allowedAddresses', label: label(s.addresses), help: s.addressesHelp },
    ...{ value: allowedAddresses, error: problems['allowedAddresses'], optional: true },
    more: html`autocomplete="off" spellcheck="false" maxlength="2500"`,
  })}
  ${field({
    ...{ id: 'expiresOn', name: 'expiresOn', label: label(s.expires), help: s.expiresHelp, type: 'date' },
    ...{ value: expiresOn, error: problems['expiresOn'], optional: true },
  })}`
}

type KeyPair = {
  readonly action: string
  /** Makes a form that is sent twice create one account. */
  readonly idempotencyKey: string
  readonly fields: Html
  readonly publicKeyPem: string
  readonly problems: Problems
  readonly texts: { readonly make: string; readonly submit: string }
}

/**
 * A form with a key. The script makes a pair where the browser can, sends the public half, and offers the credentials as a
 * file; without it, a public key is pasted and the next page shows the secret.
 */
export function keyPair(
  view: ConsoleView,
  { action, idempotencyKey, fields, publicKeyPem, problems, texts }: KeyPair,
): Html {
  const s = serviceAccountTexts[view.language]
  const error = problems['publicKeyPem']
  return html`<form class="card" method="post" action="${action}" data-keypair data-failed="${s.keyFailed}">
      ${hiddenField('idempotencyKey', idempotencyKey)} ${fields}
      <div data-make hidden>
        <h2>${s.keyPair}</h2>
        <p>${s.keyMade}</p>
        <p class="error" role="alert"></p>
        <button type="submit" class="primary" data-make-key formnovalidate>${texts.make}</button>
      </div>
      <details${error !== undefined && html` open`}>
        <summary>${s.ownKey}</summary>
        <div class="field${error !== undefined && ' wrong'}">
          <label for="publicKeyPem">${s.publicKey}</label>
          <p class="help" id="publicKeyPem-help">${s.publicKeyHelp}</p>
          ${error !== undefined && html`<p class="error" id="publicKeyPem-error">${error}</p>`}
          <textarea
            id="publicKeyPem"
            name="publicKeyPem"
            rows="6"
            maxlength="2000"
            spellcheck="false"
            autocomplete="off"
            aria-describedby="publicKeyPem-help${error !== undefined && ' publicKeyPem-error'}"
          >
${publicKeyPem}</textarea
          >
        </div>
        <button type="submit">${texts.submit}</button>
      </details>
    </form>
    <section class="card" data-issued hidden tabindex="-1" aria-labelledby="issued-title">
      <h2 id="issued-title">${s.issued}</h2>
      <p>${s.issuedOnce}</p>
      <p>${s.saveText}</p>
      <p class="buttons">
        <a class="button primary" data-save download="credentials.json" href="${action}">${s.save}</a>
        <a class="button" data-open="${view.root}service-accounts/" href="${view.root}service-accounts">${s.open}</a>
      </p>
    </section>`
}
