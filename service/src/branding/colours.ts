/** Pure: the contrast of an accent colour on the grounds of the pages, and the style sheet that sets it (WCAG 2.2, relative luminance). */

/** `#rrggbb`. */
export type Colour = string
export type Theme = 'light' | 'dark'

/** Contrast of text (WCAG 2.2, success criterion 1.4.3). */
const contrastMin = 4.5
/** A derived colour of the dark theme has more, so that it is as easy to read as the built-in one. */
const derivedContrastMin = 6

/** The ground of each theme that has the least contrast to accents, the text on an accent, and the colour towards which the contrast grows. */
export const grounds = {
  light: { hardest: '#eef0f4', surface: '#ffffff', onAccent: '#ffffff', towards: '#000000' },
  dark: { hardest: '#212834', surface: '#161b23', onAccent: '#0d1016', towards: '#ffffff' },
} as const satisfies Readonly<Record<Theme, object>>

/** The accent of an installation that has set only the colour of the other theme. */
const builtIn = '#2449c8'

/** Undefined: the text is no colour of this form. */
export const readColour = (text: string): Colour | undefined =>
  /^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined

const channelsOf = (colour: Colour): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

const linear = (channel: number): number => {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

const luminanceOf = (colour: Colour): number => {
  const [red = 0, green = 0, blue = 0] = channelsOf(colour).map(linear)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Computes the ratio of two luminances: from 1 to 21. */
export function contrastOf(one: Colour, other: Colour): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((left, right) => left - right)
  return (lighter + 0.05) / (darker + 0.05)
}

const mixed = (colour: Colour, other: Colour, share: number): Colour => {
  const others = channelsOf(other)
  const channels = channelsOf(colour).map((channel, at) => Math.round(channel + ((others[at] ?? 0) - channel) * share))
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

const mixSteps = 256

/** The colour itself, or the first one on the way to black or white that has the contrast. */
export function nearestWith(colour: Colour, theme: Theme, contrast = contrastMin): Colour {
  const { hardest, towards } = grounds[theme]
  for (let step = 0; step < mixSteps; step += 1) {
    const tried = mixed(colour, towards, step / mixSteps)
    if (contrastOf(tried, hardest) >= contrast) return tried
  }
  return towards
}

/** Completes "The colour ...". Undefined: text in the colour can be read in the theme. */
export function contrastProblem(colour: Colour, theme: Theme): string | undefined {
  const { hardest } = grounds[theme]
  const contrast = contrastOf(colour, hardest)
  if (contrast >= contrastMin) return undefined
  // Rounded down: a contrast of 4.499 is not shown as the 4.5 that it misses.
  const shown = (Math.floor(contrast * 100) / 100).toFixed(2)
  return (
    `has a contrast of ${shown} on the ${theme} ground ${hardest}, and needs ${contrastMin}; ` +
    `the nearest colour that passes is ${nearestWith(colour, theme)}`
  )
}

export const darkOf = (light: Colour): Colour => nearestWith(light, 'dark', derivedContrastMin)

/** A tint of the surface on which the accent can still be read. */
function softOf(accent: Colour, theme: Theme): Colour {
  const { surface } = grounds[theme]
  const tints = [0.12, 0.09, 0.06, 0.03].map((share) => mixed(surface, accent, share))
  return tints.find((tint) => contrastOf(accent, tint) >= contrastMin) ?? surface
}

export type Accent = { readonly light?: Colour | undefined; readonly dark?: Colour | undefined }

/** The accent of each theme, derived where it is not set. */
export const accentsOf = ({ light = builtIn, dark = darkOf(light) }: Accent) => ({ light, dark })

/** Sets the tokens of the accent in both themes. */
export function accentCss(accent: Accent): string {
  const { light, dark } = accentsOf(accent)
  const pair = (name: string, of: (accent: Colour, theme: Theme) => Colour) =>
    `  --${name}: light-dark(${of(light, 'light')}, ${of(dark, 'dark')});\n`
  const strong = (accent: Colour, theme: Theme) => mixed(accent, grounds[theme].towards, 0.2)
  return `:root {\n${[
    pair('accent', (colour) => colour),
    pair('accent-strong', strong),
    pair('accent-soft', softOf),
    pair('on-accent', (_accent, theme) => grounds[theme].onAccent),
  ].join('')}}\n`
}
