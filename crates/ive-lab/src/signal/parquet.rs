//! Parquet files with a row for each state. Without the feature `parquet` they are refused.

#[cfg(feature = "parquet")]
mod columns {
    use std::fs::File;
    use std::io::{self, Write};
    use std::sync::Arc;

    use parquet::basic::{Compression, Repetition, Type as Physical};
    use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
    use parquet::data_type::{DataType, DoubleType, Int64Type};
    use parquet::errors::ParquetError;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
    use parquet::schema::types::Type;

    use super::super::results::Results;
    use super::super::spool::Bytes;
    use super::super::table::{Rows, is_numeric};
    use crate::exit::{Failure, Outcome};

    /// A Parquet file, one group of rows after the other.
    struct Parquet {
        file: String,
        reader: SerializedFileReader<File>,
        /// The columns that hold numbers: name and place.
        columns: Vec<usize>,
        names: Vec<String>,
        /// The group that is being read, its columns, and how many of its rows are left.
        group: usize,
        open: Vec<ColumnReader>,
        left: usize,
    }

    fn broken(file: &str, e: &ParquetError) -> Failure {
        // The library says `NYI: ...` or names the compression it was built without.
        Failure::data(format!(
            "cannot read {file}: {e}; zstd and brotli are not read, save it with compression=\"snappy\""
        ))
    }

    /// Opens a file; columns that hold no numbers are left out.
    pub fn open(file: &str, bytes: Bytes) -> Outcome<Box<dyn Rows>> {
        let content = bytes.into_file().map_err(|e| Failure::io(format!("cannot read {file}: {e}")))?;
        let reader = SerializedFileReader::new(content).map_err(|e| broken(file, &e))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let flat = |i: &usize| {
            let column = schema.column(*i);
            let numbers = matches!(
                column.physical_type(),
                Physical::DOUBLE | Physical::FLOAT | Physical::INT32 | Physical::INT64 | Physical::BOOLEAN
            );
            numbers && column.max_rep_level() == 0 && column.path().parts().len() == 1
        };
        let columns: Vec<usize> = (0..schema.num_columns()).filter(flat).collect();
        let words = (0..schema.num_columns()).filter(|i| !columns.contains(i)).map(|i| schema.column(i));
        if let Some(column) = words.into_iter().find(|column| is_numeric(column.name())) {
            let name = column.name();
            return Err(Failure::data(format!(
                "cannot read {file}: the column `{name}` does not hold numbers"
            )));
        }
        let names = columns.iter().map(|&i| schema.column(i).name().to_owned()).collect();
        Ok(Box::new(Parquet {
            file: file.to_owned(),
            reader,
            columns,
            names,
            group: 0,
            open: Vec::new(),
            left: 0,
        }))
    }

    impl Rows for Parquet {
        fn names(&self) -> &[String] {
            &self.names
        }

        fn next(&mut self, most: usize) -> Outcome<Option<Vec<Vec<f64>>>> {
            while self.left == 0 {
                if self.group == self.reader.num_row_groups() || self.columns.is_empty() {
                    return Ok(None);
                }
                let group = self.reader.get_row_group(self.group).map_err(|e| broken(&self.file, &e))?;
                self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
                let open = self.columns.iter().map(|&i| group.get_column_reader(i)).collect::<Result<_, _>>();
                self.open = open.map_err(|e| broken(&self.file, &e))?;
                self.group += 1;
            }
            let count = self.left.min(most);
            let mut part = Vec::new();
            for (column, name) in self.open.iter_mut().zip(&self.names) {
                let numbers = numbers(column, count).map_err(|e| broken(&self.file, &e))?;
                if numbers.len() != count {
                    let (file, missing) = (&self.file, count - numbers.len());
                    return Err(Failure::data(format!(
                        "cannot read {file}: {missing} numbers are missing in `{name}`"
                    )));
                }
                part.push(numbers);
            }
            self.left -= count;
            Ok(Some(part))
        }
    }

    /// The next numbers of a column; fewer than asked for where some are missing.
    fn numbers(column: &mut ColumnReader, count: usize) -> Result<Vec<f64>, ParquetError> {
        match column {
            ColumnReader::DoubleColumnReader(c) => read(c, count, |x| x),
            ColumnReader::FloatColumnReader(c) => read(c, count, f64::from),
            ColumnReader::Int32ColumnReader(c) => read(c, count, f64::from),
            ColumnReader::Int64ColumnReader(c) => read(c, count, |x| x as f64),
            ColumnReader::BoolColumnReader(c) => read(c, count, |x| f64::from(u8::from(x))),
            _ => Err(ParquetError::General("a column holds no numbers".to_owned())),
        }
    }

    fn read<T: DataType>(
        column: &mut ColumnReaderImpl<T>,
        count: usize,
        number: impl Fn(T::T) -> f64,
    ) -> Result<Vec<f64>, ParquetError> {
        let (mut values, mut levels, mut records) = (Vec::new(), Vec::new(), 0);
        while records < count {
            let (more, _, _) = column.read_records(count - records, Some(&mut levels), None, &mut values)?;
            if more == 0 {
                break;
            }
            records += more;
        }
        Ok(values.into_iter().map(number).collect())
    }

    /// The next column to be written.
    fn next<'a, W: Write + Send>(
        group: &'a mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<SerializedColumnWriter<'a>, ParquetError> {
        group
            .next_column()?
            .ok_or_else(|| ParquetError::General("there are fewer columns than fields".to_owned()))
    }

    /// Writes results, a group of rows for each part.
    pub fn write(results: &mut Results, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let names = results.names.clone();
        let column = |name: &str, kind| {
            let built =
                Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED).build();
            built.map(Arc::new)
        };
        let mut fields = vec![column("state", Physical::INT64)?];
        for name in &names {
            fields.push(column(name, Physical::DOUBLE)?);
        }
        let schema = Type::group_type_builder("scores").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let mut state = 0i64;
        for part in 0..results.parts() {
            let mut group = writer.next_row_group()?;
            let width = results.field(0, part)?.len() as i64;
            let states: Vec<i64> = (state..state + width).collect();
            let mut column = next(&mut group)?;
            column.typed::<Int64Type>().write_batch(&states, None, None)?;
            column.close()?;
            for field in 0..names.len() {
                let numbers = results.field(field, part)?;
                let mut column = next(&mut group)?;
                column.typed::<DoubleType>().write_batch(&numbers, None, None)?;
                column.close()?;
            }
            group.close()?;
            state += width;
        }
        writer.close()?;
        Ok(())
    }
}

#[cfg(feature = "parquet")]
pub use columns::{open, write};

#[cfg(not(feature = "parquet"))]
mod refused {
    use std::io::{self, Write};

    use super::super::results::Results;
    use super::super::spool::Bytes;
    use super::super::table::Rows;
    use crate::exit::{Failure, Outcome};

    /// Refuses to read.
    pub fn open(file: &str, _: Bytes) -> Outcome<Box<dyn Rows>> {
        Err(Failure::usage(format!("cannot read {file}: this `ive` was built without the feature parquet")))
    }

    /// Refuses to write.
    pub fn write(_: &mut Results, _: &mut (dyn Write + Send)) -> io::Result<()> {
        Err(io::Error::other("this `ive` was built without the feature parquet"))
    }
}

#[cfg(not(feature = "parquet"))]
pub use refused::{open, write};
