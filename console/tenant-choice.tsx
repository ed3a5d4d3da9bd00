import { Empty } from './parts.tsx';
import { addressOf, hashOf, usePlace } from './place.ts';

const MAX_OFFERED = 12;

/** The choice keeps the screen and its filters. */
export function TenantChoice({ title }: { readonly title: string }) {
  const { tenants, mode, tenant } = usePlace();
  const { path, filters } = addressOf(location.hash);
  // If no tenant was chosen before, the console chooses a mode in which the new tenant has payments.
  const scopeOf = (id: string) => (tenant === undefined ? { tenant: id } : { tenant: id, mode });
  return (
    <Empty
      title={title}
      hint={
        <>
          Choose a tenant at the top of the page
          {tenants.length > 0 && ', or here: '}
          {tenants.slice(0, MAX_OFFERED).map(({ id, name }, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <a href={hashOf(path, scopeOf(id), filters)}>{name || id}</a>
            </span>
          ))}
          .
        </>
      }
    />
  );
}
