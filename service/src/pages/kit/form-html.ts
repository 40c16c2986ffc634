/**
 * Finds a form in the HTML of our own pages and fills it in. `html` escapes every value and quotes every attribute, so that regular
 * expressions can read the tags.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'

/** The fields of a form, in order. A name may occur several times. */
export type FormFields = readonly (readonly [name: string, value: string])[]

export type KeptFile = {
  readonly name: string
  readonly fileName: string
  readonly type: string
  readonly base64: string
}

type Attributes = Readonly<Record<string, string>>

type SentForm = {
  /** The path that the form was sent to. */
  readonly path: string
  readonly fields: FormFields
  readonly files: readonly KeptFile[]
}

/** The position of a form in a page. `dialog`: that of the dialog around it, which is closed when the page opens. */
type FormPosition = {
  readonly start: number
  readonly end: number
  readonly dialog?: { readonly start: number; readonly end: number }
}

const inTag = String.raw`((?:[^<>"]|"[^"]*")*)`
const formTag = new RegExp(`<form\\b${inTag}>`, 'g')
const dialogTag = new RegExp(`<dialog\\b${inTag}>`, 'g')
const inputTag = new RegExp(`<input\\b${inTag}>`, 'g')
const optionTag = new RegExp(`<option\\b${inTag}>`, 'g')
const selectElement = new RegExp(`<select\\b${inTag}>([^]*?)</select>`, 'g')
const textElement = new RegExp(`<textarea\\b${inTag}>[^]*?</textarea>`, 'g')
const closingButton = new RegExp(`<button\\b[^<>]*\\bpopovertarget="[^"]*"${inTag}>[^]*?</button>`, 'g')

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const unescapeText = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_whole, name: string) => entities[name] ?? '')
const escapeText = (text: string): string => html`${text}`.html

const readAttributes = (tag: string): Attributes =>
  Object.fromEntries(
    [...tag.matchAll(/([^\s=>"/]+)(?:="([^"]*)")?/g)].map(([, name = '', value = '']) => [name, unescapeText(value)]),
  )

/** Returns the inner text of a tag with an attribute set, or without it. */
function withAttribute(tag: string, name: string, value: string | undefined): string {
  const { [name]: _before, ...others } = readAttributes(tag)
  const all = value === undefined ? others : { ...others, [name]: value }
  return Object.entries(all)
    .map(([each, text]) => ` ${each}="${escapeText(text)}"`)
    .join('')
}

/** Hidden ids that change each time the page is shown, or when another person changes the subject. */
const changingIds: readonly string[] = ['idempotencyKey', 'seen']

/** Reports whether the form has the same hidden ids as the one that was sent: rows of a table have forms with one action. */
function isAboutTheSame(text: string, { fields }: Pick<SentForm, 'fields'>): boolean {
  const hidden = [...text.matchAll(inputTag)]
    .map(([, tag = '']) => readAttributes(tag))
    .filter(({ type }) => type === 'hidden')
  return hidden.every(({ name = '', value = '' }) => {
    const sent = fields.filter(([each]) => each === name)
    return (
      !uuidPattern.test(value) ||
      changingIds.includes(name) ||
      sent.length === 0 ||
      sent.some(([, each]) => each === value)
    )
  })
}

const actionPath = (action: string, pagePath: string): string => new URL(action, `http://page${pagePath}`).pathname

/** Finds the form of a page with the same path and the same hidden ids. */
export function findForm(page: string, pagePath: string, sent: SentForm): FormPosition | undefined {
  for (const match of page.matchAll(formTag)) {
    const { method = '', action = '' } = readAttributes(match[1] ?? '')
    const [start, end] = [match.index, page.indexOf('</form>', match.index) + '</form>'.length]
    const isWanted = method === 'post' && actionPath(action, pagePath) === sent.path
    if (!isWanted || !isAboutTheSame(page.slice(start, end), sent)) continue
    const dialog = [...page.slice(0, start).matchAll(dialogTag)].at(-1)
    const dialogEnd = dialog === undefined ? -1 : page.indexOf('</dialog>', dialog.index) + '</dialog>'.length
    return { start, end, ...(dialog && dialogEnd > end && { dialog: { start: dialog.index, end: dialogEnd } }) }
  }
  return undefined
}

/** Writes the sent values into the controls of a form. Controls without a sent value, such as passwords, stay unchanged. */
function fillForm(text: string, { fields, files }: SentForm): string {
  const left = new Map<string, string[]>()
  for (const [name, value] of fields) left.set(name, [...(left.get(name) ?? []), value])
  const next = (name = ''): string | undefined => left.get(name)?.shift()
  const isSent = (name: string, value: string) => fields.some(([each, given]) => each === name && given === value)
  const inputs = text.replaceAll(inputTag, (whole, tag: string) => {
    const { type = 'text', name = '', value = 'on' } = readAttributes(tag)
    if (type === 'checkbox' || type === 'radio')
      return `<input${withAttribute(tag, 'checked', isSent(name, value) ? '' : undefined)}>`
    if (type === 'file') {
      const file = files.find((each) => each.name === name)
      if (file === undefined) return whole
      const named = withAttribute(withAttribute(tag, 'data-kept-name', file.fileName), 'data-kept-type', file.type)
      return `<input${withAttribute(named, 'data-kept-content', file.base64)}>`
    }
    const given = type === 'password' ? undefined : next(name)
    return given === undefined ? whole : `<input${withAttribute(tag, 'value', given)}>`
  })
  const texts = inputs.replaceAll(textElement, (whole, tag: string) => {
    const given = next(readAttributes(tag)['name'])
    return given === undefined ? whole : `<textarea${tag}>${escapeText(given)}</textarea>`
  })
  return texts.replaceAll(selectElement, (whole, tag: string, options: string) => {
    const { name = '' } = readAttributes(tag)
    const given = fields.filter(([each]) => each === name).map(([, value]) => value)
    if (given.length === 0) return whole
    const chosen = options.replaceAll(optionTag, (_option, own: string) => {
      const { value = '' } = readAttributes(own)
      return `<option${withAttribute(own, 'selected', given.includes(value) ? '' : undefined)}>`
    })
    return `<select${tag}>${chosen}</select>`
  })
}

const mainTag = new RegExp(`<main\\b${inTag}>`)

/**
 * Returns the page with its form filled in as it was sent, below the message `said`. A form in a dialog moves out of
 * it, because the page cannot open a dialog without a script. `query` is added to the target of the form.
 */
export function pageWithForm(
  page: string,
  found: FormPosition,
  sent: SentForm,
  { said, query }: { readonly said: Html; readonly query: string },
) {
  const { start, end, dialog } = found
  const form = fillForm(page.slice(start, end), sent).replace(formTag, (_whole, tag: string) => {
    const { action = '' } = readAttributes(tag)
    return `<form${withAttribute(tag, 'action', `${action}${action.includes('?') ? '&' : '?'}${query}`)}>`
  })
  const [main = ''] = mainTag.exec(page) ?? []
  if (dialog === undefined) return (page.slice(0, start) + form + page.slice(end)).replace(main, () => main + said.html)
  const inner =
    page.slice(page.indexOf('>', dialog.start) + 1, start) + form + page.slice(end, dialog.end - '</dialog>'.length)
  const moved = `<section class="card kept">${inner.replaceAll(closingButton, '').replaceAll(' tabindex="-1" autofocus', '')}</section>`
  return (page.slice(0, dialog.start) + page.slice(dialog.end)).replace(main, () => main + said.html + moved)
}
