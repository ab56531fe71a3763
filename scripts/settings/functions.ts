/** The table of the functions of job files in `docs/`, made of the functions: between `<!-- functions -->` and `<!-- end of functions -->`. */
import {
  functionGroups,
  refusedFunctions,
  specialFunctions,
} from '../../src/lib/hcl-functions/table.ts'

const place = /(<!-- functions -->\n)[^]*?(\n<!-- end of functions -->)/g

/** The page with its table as the functions are. */
export function withFunctions(page: string): string {
  return page.replaceAll(place, (_, begin: string, end: string) => `${begin}\n${table()}\n${end}`)
}

function table(): string {
  const special = Object.entries(specialFunctions).map(([name, parameters]) =>
    written(name, parameters),
  )
  const rows = functionGroups.map(([title, functions]) => {
    const calls = Object.entries(functions).map(([name, { parameters }]) =>
      written(name, parameters),
    )
    return `| ${title} | ${calls.join(', ')} |`
  })
  const refused = Object.keys(refusedFunctions).map((name) => `\`${name}\``)
  return [
    '| functions | |',
    '| --- | --- |',
    ...rows,
    `| expressions | ${special.join(', ')} |`,
    `| refused, with what to do instead | ${refused.join(', ')} |`,
  ].join('\n')
}

function written(name: string, parameters: string): string {
  return `\`${name}(${parameters})\``
}
