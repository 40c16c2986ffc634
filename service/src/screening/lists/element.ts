/** The elements of one record of a list as a tree. Only one record is in memory at a time. */

export type Element = {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: Element[]
  text: string
}

export const childrenOf = (element: Element, name: string): readonly Element[] =>
  element.children.filter((child) => child.name === name)

/** The text of the first child of this name, without space around it; empty if there is none. */
export const textOf = (element: Element, name: string): string => childrenOf(element, name)[0]?.text.trim() ?? ''

/** Empty if there is no such attribute, or no element. */
export const attributeOf = (element: Element | undefined, name: string): string =>
  element?.attributes.get(name)?.trim() ?? ''

/** Parts of a name in one line. Empty parts leave no space. */
export const joined = (...parts: readonly string[]): string => parts.join(' ').replace(/\s+/g, ' ').trim()

export const present = (texts: readonly string[]): readonly string[] => [
  ...new Set(texts.filter((text) => text !== '')),
]
