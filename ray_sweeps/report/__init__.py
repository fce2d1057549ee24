"""Report of a sweep: tables, summary, pictures and page, written into its folder."""
