/** The rules of a profile of pain.001, held against a written message. */
import sax from 'sax'
import type { PaymentKind, ProfileRule } from '../../service/src/iso20022/index.ts'

type Item = {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: Item[]
  text: string
}

function parsed(xml: string): Item {
  const root: Item = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  const reader = sax.parser(true)
  reader.onerror = (error) => {
    throw error
  }
  reader.onopentag = ({ name, attributes }) => {
    const item: Item = { name, attributes: attributes as Record<string, string>, children: [], text: '' }
    open.at(-1)?.children.push(item)
    open.push(item)
  }
  reader.ontext = (text) => {
    const item = open.at(-1)
    if (item) item.text += text
  }
  reader.onclosetag = () => open.pop()
  reader.write(xml).close()
  return root
}

const below = (items: readonly Item[], name: string): readonly Item[] =>
  items.flatMap(({ children }) => children.filter((child) => name === '*' || child.name === name))

/** The texts of the elements, or of their attribute. */
function textsAt(context: Item, path: string): readonly string[] {
  const [element = '', attribute] = path.split('/@')
  const found = element.split('/').reduce<readonly Item[]>(below, [context])
  return found.flatMap(({ text, attributes }) =>
    attribute === undefined ? text.trim() : (attributes[attribute] ?? []),
  )
}

/** A value or form is demanded of what is there. `SvcLvl` must be there if its absence would make another kind of payment. */
function isKept({ demand }: ProfileRule, texts: readonly string[]): boolean {
  switch (demand.is) {
    case 'present':
      return texts.length > 0
    case 'absent':
      return texts.length === 0
    case 'oneOf':
      return texts.every((text) => demand.values.includes(text))
    case 'noneOf':
      return texts.every((text) => !demand.values.includes(text))
    case 'form':
      return texts.every((text) => new RegExp(`^(?:${demand.pattern})$`).test(text))
    case 'count':
      return texts.length <= demand.max
  }
}

/** The execution day of the message: ReqdExctnDt is a day in version 03, and a choice in 09. */
const dayOf = (message: readonly Item[]): string =>
  below(below(message, 'PmtInf'), 'ReqdExctnDt')
    .flatMap(({ text, children }) => [text, ...children.map((child) => child.text)])
    .map((text) => text.trim().slice(0, 'YYYY-MM-DD'.length))
    .filter((text) => text !== '')
    .toSorted()[0] ?? ''

/** Faults of the message by the rules of its execution day, each with its rule and its source, and the number of places that were judged. */
export function judged(xml: string, rules: readonly ProfileRule[], kind: PaymentKind) {
  const message = below(below([parsed(xml)], 'Document'), 'CstmrCdtTrfInitn')
  const day = dayOf(message)
  let places = 0
  const broken = rules
    .filter(({ kinds }) => kinds === undefined || kinds.includes(kind))
    .filter(({ from = '', until = '9999' }) => from <= day && day <= until)
    .flatMap((rule) =>
      rule.within
        .split('/')
        .reduce<readonly Item[]>(below, message)
        .flatMap((context) => {
          places += 1
          const texts = textsAt(context, rule.element)
          return isKept(rule, texts)
            ? []
            : [`${rule.within}/${rule.element} ${rule.demand.is}: ${texts.join(', ')} (${rule.source}, ${rule.place})`]
        }),
    )
  return { broken, places }
}
